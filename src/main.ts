import { makeProgram, runProgram } from './program.ts';

await runProgram(makeProgram(), process.argv.slice(2));
