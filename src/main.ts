import { makeProgram, runProgram } from './cli/program.ts';

await runProgram(makeProgram(), process.argv.slice(2));
