import type { Command, Option } from 'commander';
import { commandsOf, defaultOf } from './commands.ts';

/** What is different from the command line where systemd starts courtd. */
const UNDER_SYSTEMD: Readonly<Record<string, string>> = {
  COURTD_DATA:
    'Another one also needs "sudo systemctl edit courtd.service" with [Service] and ReadWritePaths=DIR, and must belong to courtd:courtd.',
  COURTD_HOST: "Not under systemd: there it is the socket's, see above.",
  COURTD_PORT: "Not under systemd: there it is the socket's, see above.",
};

const HEAD = `# The settings of courtd. Each stands here with its default; to change one, take away the "#" and write another value.
# Then: sudo systemctl restart courtd
#
# The address and the port are those of the socket, which systemd holds open across restarts and upgrades. For port 8080:
#   sudo systemctl edit courtd.socket      with the lines  [Socket]  ListenStream=  ListenStream=8080
#   sudo systemctl daemon-reload && sudo systemctl restart courtd.socket courtd.service
`;

/** /etc/courtd/courtd.env: every variable that `courtd serve` reads, commented out, with its default. */
export function settingsOf(program: Command): string {
  const commands = commandsOf(program);
  const serve = commands.filter(({ path }) => path.length === 0 || path.join() === 'serve');
  const options = serve.flatMap((command) => command.options.filter((option) => option.envVar));
  return `${HEAD}${options.map(setting).join('')}`;
}

function setting(option: Option): string {
  const note = UNDER_SYSTEMD[option.envVar!];
  const choices = option.argChoices ? `: ${option.argChoices.join(', ')}` : '';
  const said = `\n# ${option.description[0]!.toUpperCase()}${option.description.slice(1)}${choices}.\n`;
  return `${said}${note === undefined ? '' : `# ${note}\n`}#${option.envVar}=${defaultOf(option) ?? ''}\n`;
}
