import module from 'node:module';
import path from 'node:path';

/**
 * What every file of tests loads first (package.json, "tap"): two thirds of the processor time that one takes before its first
 * test begins.
 */

// As for the commands that tests start (daemon.ts).
module.enableCompileCache(path.resolve(import.meta.dirname, '../../node_modules/.cache/courtd-test'));
// For coverage, which is off, tap reads every file that is loaded once more, and its source map: none of them.
process.env._TAPJS_PROCESSINFO_EXCLUDE_ = '/./';
// This file is for this process alone.
delete process.env.NODE_OPTIONS;
