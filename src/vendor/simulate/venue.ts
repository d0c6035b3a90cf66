import { CAMERAS, type Camera, type Detection, SimulatedCourt } from './court.ts';
import { Random } from './random.ts';

export interface SimulatedCamera {
  readonly source: string;
  readonly courtId: string;
  readonly fault: 'wrong clock' | 'falls silent' | undefined;
}

/** A wrong clock is 4 min 12 s behind. */
const CLOCK_BEHIND_S = 252;
/** Seconds after which the silent camera stops: long enough for the box to miss it. */
const SILENT_AFTER_S = 45;

interface VenueOptions {
  readonly courts: number;
  readonly seed: number;
  readonly clean: boolean;
  /** Distinguishes this run from others with the same seed. */
  readonly run: string;
}

/** Something that a camera sends now. */
interface Sending {
  readonly camera: SimulatedCamera;
  readonly detection: Detection;
  /** The event as JSON. */
  readonly text: string;
}

/** The courts of a venue, with the cameras of each, and what these see. */
export class Venue {
  readonly cameras: readonly SimulatedCamera[];
  readonly #courts: readonly SimulatedCourt[];
  readonly #options: VenueOptions;

  constructor(options: VenueOptions) {
    const { courts, seed } = options;
    this.#options = options;
    this.#courts = Array.from({ length: courts }, (_, i) => new SimulatedCourt(new Random(seed * 1_000 + i)));
    this.cameras = this.#courts.flatMap((_, i) =>
      CAMERAS.map((name) => ({
        source: `court-${i + 1}-${name}`,
        courtId: `court-${i + 1}`,
        fault: this.#faultOf(i, name),
      })),
    );
  }

  /**
   * @param beganMs when the matches began, by a correct clock.
   * @returns the events of all matches up to that second, in the order of sending.
   */
  until(matchS: number, beganMs: number): Sending[] {
    const all = this.#courts.flatMap((court, i) =>
      court.until(matchS).map((detection) => {
        const { camera: name, eventId, atS, readyS: _, ...own } = detection;
        const camera = this.cameras[i * CAMERAS.length + CAMERAS.indexOf(name)]!;
        const behindS = camera.fault === 'wrong clock' ? CLOCK_BEHIND_S : 0;
        const event = {
          ...{ event_id: eventId, session_id: this.sessionOf(i), venue_id: 'venue-1' },
          ...{ court_id: camera.courtId, source: camera.source, schema_version: '1.0' },
          eot: new Date(beganMs + (atS - behindS) * 1000).toISOString(),
          ...own,
        };
        return { camera, detection, text: JSON.stringify(event) };
      }),
    );
    const isSilent = ({ camera }: Sending) => camera.fault === 'falls silent' && matchS > SILENT_AFTER_S;
    return all.filter((one) => !isSilent(one)).sort((a, b) => a.detection.readyS - b.detection.readyS);
  }

  sessionOf(court: number): string {
    return `sim-${this.#options.seed}-${this.#options.run}-court-${court + 1}`;
  }

  /** Each fault once in the venue, on another court if there is one. */
  #faultOf(court: number, name: Camera): SimulatedCamera['fault'] {
    const { clean, courts } = this.#options;
    if (clean) return undefined;
    if (name === 'radar' && court === 0) return 'wrong clock';
    return name === 'cam-2' && court === Math.min(1, courts - 1) ? 'falls silent' : undefined;
  }
}
