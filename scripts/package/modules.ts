import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import type { Architecture } from './architecture.ts';
import { ROOT } from './release.ts';

/** The npm packages of one architecture, as the lock file names them. */

/**
 * Installs them into a folder. npm compares each with its hash in the lock file and runs none of their scripts.
 * @throws {Error} if npm fails, or installs the Node of another architecture.
 */
export function installModules(folder: string, { node, elf }: Architecture): void {
  fs.mkdirSync(folder, { recursive: true });
  for (const name of ['package.json', 'package-lock.json', '.npmrc']) {
    fs.copyFileSync(path.join(ROOT, name), path.join(folder, name));
  }
  const flags = ['--omit=dev', '--os=linux', `--cpu=${node}`, '--libc=glibc', '--ignore-scripts'];
  const quiet = ['--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'];
  execFileSync('npm', ['ci', ...flags, ...quiet], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
  const program = path.join(folder, 'node_modules/.bin/node');
  if (!fs.existsSync(program) || machineOf(program) !== elf) {
    throw new Error(`npm did not install Node for ${node}: it must be npm 10 or newer.`);
  }
}

/** @returns e_machine of an ELF file. */
function machineOf(file: string): number {
  const header = Buffer.alloc(20);
  const fd = fs.openSync(file, 'r');
  fs.readSync(fd, header);
  fs.closeSync(fd);
  return header.readUInt16LE(18);
}

/** Needed only to compile, never at run time. */
const UNUSED_PACKAGES = ['node-addon-api'];
/** CommonJS duplicates of the modules that courtd imports, and a package's own command. */
const UNUSED_PATHS = ['@sinclair/typebox/build/cjs', 'pino/bin.js'];
/** Unused in every package. */
const UNUSED_NAMES =
  /^(\..*|tests?|docs?|examples?|benchmarks?|bench|eslint\.config\.js|.*\.test\.[cm]?js|.*\.min\.m?js)$/;
const USED_FILES = /\.([cm]?js|json|node)$/;

/** Links what the program loads and nothing else: no sources, typings, source maps, documents, other platforms. */
export function takeModules(from: string, to: string, { node }: Architecture): void {
  for (const name of packagesIn(from)) {
    if (UNUSED_PACKAGES.includes(name)) continue;
    link(path.join(from, name), path.join(to, name), '', usedOf(name, node));
  }
  fs.mkdirSync(path.join(to, '.bin'));
  fs.symlinkSync(`../node-linux-${node}/bin/node`, path.join(to, '.bin/node'));
}

/** @returns the names of the packages in a node_modules folder, sorted. */
function packagesIn(folder: string): string[] {
  const names = fs.readdirSync(folder).filter((name) => !name.startsWith('.'));
  const all = names.flatMap((name) =>
    name.startsWith('@') ? fs.readdirSync(path.join(folder, name)).map((own) => `${name}/${own}`) : [name],
  );
  return all.sort();
}

/** @returns the folder of every package, also of those that another one has brought in a version of its own. */
export function foldersIn(modules: string): string[] {
  return packagesIn(modules).flatMap((name) => {
    const [folder, nested] = [path.join(modules, name), path.join(modules, name, 'node_modules')];
    return [folder, ...(fs.existsSync(nested) ? foldersIn(nested) : [])];
  });
}

/** Whether a path inside a package is used; an unused folder is skipped as a whole. */
type IsUsed = (inside: string, isFolder: boolean) => boolean;

function usedOf(name: string, node: string): IsUsed {
  if (name.startsWith('node-linux-')) return (inside) => ['package.json', 'bin', 'bin/node'].includes(inside);
  if (name === 'better-sqlite3') {
    const used = new RegExp(`^(package\\.json|lib(/.*)?|prebuilds(/linux-${node}\\.node)?)$`);
    return (inside) => used.test(inside);
  }
  return (inside, isFolder) => {
    if (UNUSED_NAMES.test(path.basename(inside))) return false;
    if (UNUSED_PATHS.includes(`${name}/${inside}`)) return false;
    return isFolder || USED_FILES.test(inside);
  };
}

/** Hard links instead of copies: Node alone takes 150 MB. A folder is created with its first file. */
function link(from: string, to: string, inside: string, isUsed: IsUsed): void {
  for (const entry of fs.readdirSync(path.join(from, inside), { withFileTypes: true })) {
    const own = path.join(inside, entry.name);
    if (!isUsed(own, entry.isDirectory())) continue;
    if (entry.isDirectory()) {
      link(from, to, own, isUsed);
    } else {
      fs.mkdirSync(path.join(to, inside), { recursive: true });
      fs.linkSync(path.join(from, own), path.join(to, own));
    }
  }
}
