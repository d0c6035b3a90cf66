import t from 'tap';
import { tryTroubles } from './troubles.ts';

tryTroubles(t, 1);
