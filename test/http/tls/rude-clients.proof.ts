import t from 'tap';
import { again } from './again.ts';

await again(t, 'rude-clients.proof');
