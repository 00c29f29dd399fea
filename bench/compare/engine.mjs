// The Node engine: the first line has the contexts and is answered with the version, then
// "results" with all results, a number with what was evaluated in as many seconds.
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const client = process.argv[2];
const { getEvaluationResult } = await import(`${client}/build/esm/flagsmith-engine/index.js`);
let contexts;

function run(seconds) {
  const before = process.cpuUsage();
  const end = performance.now() + 1000 * seconds;
  let evaluations = 0;
  while (performance.now() < end) {
    for (const context of contexts) getEvaluationResult(context);
    evaluations += contexts.length;
  }
  const used = process.cpuUsage(before);
  return { evaluations, cpu: (used.user + used.system) / 1e6 };
}

function answer(asked) {
  if (!contexts) {
    contexts = asked.identities.map((identity) => ({ ...asked.context, identity }));
    return JSON.parse(readFileSync(`${client}/package.json`)).version;
  }
  return asked === 'results' ? contexts.map((context) => getEvaluationResult(context)) : run(asked);
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(JSON.stringify(answer(JSON.parse(line))) + '\n');
}
