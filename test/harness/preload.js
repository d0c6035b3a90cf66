import module from 'node:module';
import path from 'node:path';
import threads from 'node:worker_threads';

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
// What a test forks, and each of its threads, would inherit tap's loaders: most of what a start of them takes.
process.execArgv = [];
threads.Worker = class extends threads.Worker {
  constructor(file, options) {
    super(file, { execArgv: [], ...options });
  }
};
module.syncBuiltinESMExports();
