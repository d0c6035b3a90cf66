/** @returns the rule for the name of a box, which is part of the subjects of a fleet's log; undefined if the name is valid. */
export function boxNameFault(text: string): string | undefined {
  if (/^[a-z0-9-]{1,32}$/.test(text)) return undefined;
  return 'Give 1 to 32 of a to z, 0 to 9 and "-", such as venue-17.';
}
