import process from 'node:process';

/** An architecture that courtd is packaged for. */
export interface Architecture {
  /** Debian's name of it. */
  readonly debian: 'amd64' | 'arm64';
  /** Node's and npm's. */
  readonly node: 'x64' | 'arm64';
  /** The ELF header's e_machine. */
  readonly elf: number;
  /** A library that Node needs and a minimal Debian lacks: the package contains it. */
  readonly libatomic: OfDebian;
  /** The program that removes debug symbols: the package is a fifth smaller without them. */
  readonly strip: OfDebian;
}

interface OfDebian {
  readonly file: string;
  /** The Debian package that has the file; apt has checked its hash. */
  readonly debian: string;
}

const KINDS = [
  { debian: 'amd64', node: 'x64', elf: 62, triplet: 'x86_64-linux-gnu', dashed: 'x86-64-linux-gnu' },
  { debian: 'arm64', node: 'arm64', elf: 183, triplet: 'aarch64-linux-gnu', dashed: 'aarch64-linux-gnu' },
] as const;

/** For the architecture of this machine its own library and tools; for the other one those of Debian's cross packages. */
export const ARCHITECTURES: readonly Architecture[] = KINDS.map(({ triplet, dashed, ...kind }) => ({
  ...kind,
  libatomic:
    kind.node === process.arch
      ? { file: `/usr/lib/${triplet}/libatomic.so.1`, debian: 'libatomic1' }
      : { file: `/usr/${triplet}/lib/libatomic.so.1`, debian: `libatomic1-${kind.debian}-cross` },
  strip: { file: `/usr/bin/${triplet}-strip`, debian: `binutils-${dashed}` },
}));
