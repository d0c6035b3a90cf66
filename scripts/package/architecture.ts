import process from 'node:process';

/** A kind of machine that there is a package for. */
export interface Architecture {
  /** Debian's name of it. */
  readonly debian: 'amd64' | 'arm64';
  /** Node's and npm's. */
  readonly node: 'x64' | 'arm64';
  /** The ELF header's e_machine. */
  readonly elf: number;
  /** A library that Node needs and a minimal Debian lacks: it goes into the package. */
  readonly libatomic: OfDebian;
  /** Takes what only a debugger reads out of programs: the package is a fifth smaller. */
  readonly strip: OfDebian;
}

interface OfDebian {
  readonly file: string;
  /** The Debian package it is in; apt has checked its hash. */
  readonly debian: string;
}

const KINDS = [
  { debian: 'amd64', node: 'x64', elf: 62, triplet: 'x86_64-linux-gnu', dashed: 'x86-64-linux-gnu' },
  { debian: 'arm64', node: 'arm64', elf: 183, triplet: 'aarch64-linux-gnu', dashed: 'aarch64-linux-gnu' },
] as const;

/** The library and the tools of the machine itself, or Debian's packages for building for another one. */
export const ARCHITECTURES: readonly Architecture[] = KINDS.map(({ triplet, dashed, ...kind }) => ({
  ...kind,
  libatomic:
    kind.node === process.arch
      ? { file: `/usr/lib/${triplet}/libatomic.so.1`, debian: 'libatomic1' }
      : { file: `/usr/${triplet}/lib/libatomic.so.1`, debian: `libatomic1-${kind.debian}-cross` },
  strip: { file: `/usr/bin/${triplet}-strip`, debian: `binutils-${dashed}` },
}));
