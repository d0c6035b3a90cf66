export { Random } from '../../src/cli/simulate/random.ts';
