import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { loadVerbs, makeProgram } from '../../src/cli/program.ts';
import type { Architecture } from './architecture.ts';
import { commandsOf } from './commands.ts';
import { completionOf } from './completion.ts';
import { copyrightOf } from './copyright.ts';
import { manualOf } from './manual.ts';
import { installModules, takeModules } from './modules.ts';
import { COMPILER } from './needs.ts';
import { type Release, ROOT } from './release.ts';
import { sbomOf } from './sbom.ts';
import { settingsOf } from './settings.ts';

const COURTD = await loadVerbs(makeProgram());

/** Lays out the files of the package as they will be installed. `work` is a folder for intermediate files. */
export function stage(folder: string, work: string, architecture: Architecture, release: Release): void {
  const program = path.join(folder, 'usr/lib/courtd');
  installModules(work, architecture);
  const installed = path.join(work, 'node_modules');
  takeModules(installed, path.join(program, 'node_modules'), architecture);
  compile(path.join(program, 'src'));
  write(path.join(program, 'package.json'), manifestOf(release));
  copy(path.join(ROOT, 'bin/courtd'), path.join(program, 'bin/courtd'));
  copy(architecture.libatomic.file, path.join(program, 'lib/libatomic.so.1'));
  copy(path.join(import.meta.dirname, 'courtd'), path.join(folder, 'usr/bin/courtd'));
  strip(program, architecture);
  const share = path.join(folder, 'usr/share');
  write(path.join(share, 'man/man1/courtd.1'), manualOf(commandsOf(COURTD)));
  write(path.join(share, 'bash-completion/completions/courtd'), completionOf(COURTD));
  write(path.join(share, 'doc/courtd/copyright'), copyrightOf(installed));
  for (const document of documents()) {
    copy(path.join(ROOT, document), path.join(share, 'doc/courtd', document));
  }
  for (const file of examples()) {
    copy(path.join(ROOT, file), path.join(share, 'doc/courtd/examples', path.basename(file)));
  }
  write(path.join(folder, 'etc/courtd/courtd.env'), settingsOf(COURTD));
  write(path.join(share, 'doc/courtd/sbom.cdx.json'), sbomOf(folder, architecture, release));
}

/** Compiles the program to JavaScript, which starts faster than type stripping. */
function compile(folder: string): void {
  const config = path.join(import.meta.dirname, 'tsconfig.json');
  execFileSync(process.execPath, [COMPILER, '-p', config, '--outDir', folder], { stdio: 'inherit' });
}

/** Debug symbols of programs that others built are useless here. Now, and not by dh_strip: the SBOM has the hashes of what is installed. */
function strip(program: string, { node, strip }: Architecture): void {
  const programs = [`node-linux-${node}/bin/node`, `better-sqlite3/prebuilds/linux-${node}.node`];
  const files = programs.map((file) => path.join(program, 'node_modules', file));
  execFileSync(strip.file, ['--remove-section=.comment', '--remove-section=.note', ...files]);
}

/** @returns the part of package.json that the program reads. */
function manifestOf({ version }: Release): string {
  const { name, description, license, type } = JSON.parse(
    fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8'),
  );
  return `${JSON.stringify({ name, version, description, license, type }, null, 2)}\n`;
}

function write(file: string, text: string): void {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, text);
}

function copy(from: string, to: string): void {
  fs.mkdirSync(path.dirname(to), { recursive: true });
  fs.copyFileSync(from, to);
}

/** What an operator may copy: for other programs of the box, and for those that watch it. */
function examples(): string[] {
  const folder = 'systemd/examples';
  const own = fs.readdirSync(path.join(ROOT, folder)).map((name) => path.join(folder, name));
  return [...own, 'systemd/courtd.rules.yml'];
}

/** What cameras' vendors and operators read, where the links between them lead. */
function documents(): string[] {
  const ofOperators = fs.readdirSync(path.join(ROOT, 'systemd')).filter((name) => name.endsWith('.md'));
  return [
    'README.md',
    'SECURITY.md',
    'src/http/README.md',
    ...ofOperators.map((name) => path.join('systemd', name)),
  ];
}
