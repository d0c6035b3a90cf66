import type { SourceFindings } from '../health/facts.ts';
import { SOURCE_CODES, sourceProblems } from '../health/sourceProblems.ts';
import type { SourceGauges } from '../telemetry/source.ts';
import { counters, gauge, gauges, type Labels, type Sample, type ValueFamily } from './family.ts';

/** How many sources get their own labels; the others share `other`, so that a camera that keeps changing its name cannot flood the metrics store. */
const NAMED_MAX = 200;
const OTHER: Labels = { court_id: 'other', source: 'other' };

/** A source, or all that have no labels of their own. */
interface Shown {
  readonly labels: Labels;
  /** Seconds since 1970-01-01T00:00:00Z. */
  readonly lastS: number | null;
  readonly clockOffsetS: number | null;
  readonly isSilent: boolean | null;
  readonly events: number;
  readonly oddEvents: number;
}

/** @param sources those that keep their labels come first. @param nowMs by the box's clock. */
export function sourceFamilies(sources: readonly SourceGauges[], nowMs: number): ValueFamily[] {
  const all = sources.map((source): Shown => {
    const { court_id, source: name, state, quietS, clockOffsetS, events, oddEvents } = source;
    return {
      labels: { court_id, source: name },
      // By the current clock: it may have been set since.
      lastS: quietS === null ? null : nowMs / 1_000 - quietS,
      clockOffsetS,
      isSilent: state === 'unknown' ? null : state === 'silent',
      events,
      oddEvents,
    };
  });
  const rest = all.slice(NAMED_MAX);
  const shown = rest.length === 0 ? all : [...all.slice(0, NAMED_MAX), together(rest)];
  const samples = (value: (source: Shown) => number | null) =>
    shown.flatMap((source): Sample[] => {
      const known = value(source);
      return known === null ? [] : [{ labels: source.labels, value: known }];
    });
  return [
    lastEventFamily(samples(({ lastS }) => lastS)),
    gauges(
      'courtd_source_clock_offset_seconds',
      "The source's clock minus that of the box.",
      samples(({ clockOffsetS }) => clockOffsetS),
    ),
    gauges(
      'courtd_source_silent',
      'Whether the source has stopped while its court is still in use.',
      samples(({ isSilent }) => (isSilent === null ? null : Number(isSilent))),
    ),
    counters(
      'courtd_source_events_total',
      'Events of the source that were stored.',
      samples(({ events }) => events),
    ),
    counters(
      'courtd_source_odd_payload_events_total',
      'Events of the source with a known payload field of another type.',
      samples(({ oddEvents }) => oddEvents),
    ),
  ];
}

export function problemFamilies(findings: SourceFindings): ValueFamily[] {
  const problems = sourceProblems(findings);
  return [
    gauges(
      'courtd_source_problems',
      'Problems of the sources, by the code that status has for them, in quiet hours too.',
      SOURCE_CODES.map((code) => ({
        labels: { code },
        value: problems.filter((problem) => problem.code === code).length,
      })),
    ),
    gauge(
      'courtd_quiet_now',
      'Whether nobody is to be told now that a camera is silent.',
      Number(findings.is_quiet_hours),
    ),
  ];
}

/** Also known while no daemon runs. @param samples those that keep their labels come first. */
export function lastEventFamily(samples: readonly Sample[]): ValueFamily {
  const rest = samples.slice(NAMED_MAX).map(({ value }) => value);
  const others = rest.length === 0 ? [] : [{ labels: OTHER, value: Math.max(...rest) }];
  return gauges(
    'courtd_source_last_event_timestamp_seconds',
    'When the last event of the source was received.',
    [...samples.slice(0, NAMED_MAX), ...others],
  );
}

/** @returns the newest event, the clock that is off the most, whether any is silent, and the sum of their events. */
function together(sources: readonly Shown[]): Shown {
  const known = (values: readonly (number | null)[]) => values.filter((value) => value !== null);
  const offsets = known(sources.map(({ clockOffsetS }) => clockOffsetS));
  const times = known(sources.map(({ lastS }) => lastS));
  return {
    labels: OTHER,
    lastS: times.length === 0 ? null : Math.max(...times),
    clockOffsetS: offsets.sort((a, b) => Math.abs(b) - Math.abs(a))[0] ?? null,
    isSilent: sources.some(({ isSilent }) => isSilent),
    events: sources.reduce((sum, { events }) => sum + events, 0),
    oddEvents: sources.reduce((sum, { oddEvents }) => sum + oddEvents, 0),
  };
}
