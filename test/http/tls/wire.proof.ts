import t from 'tap';
import { again } from './again.ts';

await again(t, 'wire.test');
