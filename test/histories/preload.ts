import { hookModules, takeOver } from './world.ts';

/** Loaded before a process of histories begins (`--import`). */
hookModules(process.env.HISTORIES_PLANT || undefined);
takeOver();
