import { COURTS, type CourtLines, type CourtName } from '../../protocol/courtLines.ts';

export type SportName = Exclude<CourtName, 'none'>;

/** How a stroke usually goes. */
export interface Shot {
  readonly name: string;
  /** How far behind the net it lands, and the standard deviation of that, in feet. */
  readonly depth: number;
  readonly spread: number;
  /** As it leaves the racket. */
  readonly kmh: number;
  /** How often it is played, compared with the others of a rally; a whole number. */
  readonly weight: number;
}

export interface Sport {
  readonly court: CourtLines;
  /** How far inside of the outline the side lines for two players are, in feet. */
  readonly alley: number;
  /** Where players wait: feet from the net. */
  readonly home: number;
  readonly kmh: { readonly least: number; readonly most: number };
  readonly serve: Shot;
  readonly return: Shot;
  readonly rally: readonly Shot[];
  /** How many strokes of a rally have to bounce, and the share of the others that do; a ball that nobody reaches always does. */
  readonly mustBounce: number;
  readonly bounceShare: number;
}

function shot(name: string, depth: number, spread: number, kmh: number, weight = 1): Shot {
  return { name, depth, spread, kmh, weight };
}

/** Names as the sports have them; of badminton as annotated matches do. Depths and speeds are those of club players. */
const TABLE: Readonly<Record<SportName, Omit<Sport, 'court'>>> = {
  pickleball: {
    alley: 0,
    home: 8,
    kmh: { least: 20, most: 90 },
    serve: shot('serve', 17.5, 2, 58),
    return: shot('return', 17.5, 2.2, 50),
    rally: [
      shot('dink', 4.2, 1.4, 25, 4),
      shot('drop', 5, 1.8, 34, 2),
      shot('drive', 15.5, 3, 66, 2),
      shot('volley', 12, 3.5, 52, 2),
      shot('lob', 18, 2.2, 38),
      shot('smash', 15, 3.4, 78),
    ],
    mustBounce: 2,
    bounceShare: 0.5,
  },
  badminton: {
    alley: 1.5,
    home: 10,
    kmh: { least: 20, most: 330 },
    serve: shot('short_service', 8.5, 1, 45),
    return: shot('lob', 19, 1.6, 90),
    rally: [
      shot('clear', 19.5, 1.6, 160, 2),
      shot('lob', 19, 1.6, 90, 3),
      shot('drop', 7, 2, 85, 2),
      shot('net_shot', 3.5, 1.2, 32, 3),
      shot('push', 15, 3, 80),
      shot('drive', 13, 2.6, 130),
      shot('smash', 14, 3.6, 240, 2),
    ],
    mustBounce: 0,
    bounceShare: 0,
  },
  tennis: {
    alley: 4.5,
    home: 37,
    kmh: { least: 30, most: 210 },
    serve: shot('serve', 17, 2.2, 160),
    return: shot('return', 29, 4, 100),
    rally: [
      shot('topspin', 31, 4, 112, 6),
      shot('slice', 29, 4.4, 82, 2),
      shot('volley', 22, 6, 75),
      shot('lob', 34, 3, 58),
      shot('drop_shot', 8, 3, 45),
      shot('smash', 26, 5, 145),
    ],
    mustBounce: 1,
    bounceShare: 0.9,
  },
  padel: {
    alley: 0,
    home: 14,
    kmh: { least: 25, most: 150 },
    serve: shot('serve', 17, 2.4, 85),
    return: shot('return', 23, 3.6, 58),
    rally: [
      shot('groundstroke', 24, 3.6, 70, 3),
      shot('volley', 20, 4.4, 62, 3),
      shot('lob', 28, 2.2, 45, 2),
      shot('bandeja', 25, 3, 68),
      shot('smash', 18, 4.4, 112),
    ],
    mustBounce: 1,
    bounceShare: 0.6,
  },
};

export function sportOf(name: SportName): Sport {
  return { court: COURTS[name]!, ...TABLE[name] };
}
