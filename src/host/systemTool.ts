import { execFile } from 'node:child_process';

/** What a system program answered. */
interface ToolAnswer {
  /** Null if it is not installed, or was killed. */
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const TOOL_MS = 5_000;
const OUTPUT_BYTES = 16 * 1024 ** 2;

/** Runs a system program, such as systemctl in English, for TOOL_MS at most. Never rejects. */
export function askTool(program: string, ...args: readonly string[]): Promise<ToolAnswer> {
  return new Promise((resolve) => {
    const options = {
      env: { ...process.env, LC_ALL: 'C', SYSTEMD_COLORS: '0', SYSTEMD_PAGER: '' },
      timeout: TOOL_MS,
      killSignal: 'SIGKILL',
      maxBuffer: OUTPUT_BYTES,
      encoding: 'utf8',
    } as const;
    const child = execFile(program, args, options, (_error, stdout, stderr) =>
      resolve({ status: child.exitCode, stdout, stderr }),
    );
  });
}
