/** Hours of each day, by the box's local time, in which a silent camera is not reported. */
export interface QuietHours {
  /** Minutes since midnight: they may begin in the evening and end in the morning. */
  readonly from: number;
  readonly to: number;
}

/** @param text such as "23:00-07:00". @returns undefined for another text. */
export function quietHoursOf(text: string): QuietHours | undefined {
  const [, ...parts] = /^([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)$/.exec(text) ?? [];
  const [fromH, fromMin, toH, toMin] = parts.map(Number);
  if (fromH === undefined) return undefined;
  const hours = { from: fromH * 60 + fromMin!, to: toH! * 60 + toMin! };
  return hours.from === hours.to ? undefined : hours;
}

export function isQuiet({ from, to }: QuietHours, now: Date): boolean {
  const at = now.getHours() * 60 + now.getMinutes();
  return from < to ? at >= from && at < to : at >= from || at < to;
}
