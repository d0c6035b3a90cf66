const HOUR_S = 3_600;
const DAY_S = 86_400;

/**
 * The thresholds of problems: for `courtd status` and `check`, the log, and the alert rules
 * (systemd/courtd.rules.yml) alike.
 */
export const THRESHOLDS = {
  /**
   * Age in seconds of the newest backup. One is made each night: after two days more than one has been missed, and two days of
   * play are on a single disk. A box that is off at night makes up for it when it is on.
   */
  backup_s: 2 * DAY_S,
  /** Days until the disk is full at the present rate: time to buy a larger one. */
  filling_days: 14,
  /** Days of validity that the TLS certificate has left: somebody has to come to the venue and renew it by hand. */
  certificate_days: 30,
  /** Seconds by which a camera's clock may differ from the box's. Clocks that differ from each other by less are off alike. */
  clock_s: 2,
  /**
   * Seconds since the oldest event was received that headquarters does not have. A line that is down for an evening is nobody's
   * work: the box keeps its events, and catches up by itself.
   */
  ship_behind_s: 6 * HOUR_S,
  /** The same of a copy in a directory, which is seconds behind when all is well. */
  copy_behind_s: 60,
  /** Seconds for which a rejection is reported: a vendor's test, or a corrected camera, is no lasting problem. */
  refused_s: HOUR_S,
  /** Requests a day without a valid token: a camera tries again every 30 s, somebody who tries the port with curl does not. */
  unauthorized: 6,
  /** Requests a day that were too many for the rate limit: fewer succeed with the next try. */
  rate_limited: 100,
  /** Seconds before the end of an old token from which its users are reported: a day to give those cameras the new one. */
  old_token_s: DAY_S,
} as const;
