// Usage: npm install redis, then REDIS_URL=redis://127.0.0.1:6379/0 node push.cjs PROJECT JOB_ID TOKEN...
// With Debian's package node-redis instead: NODE_PATH=/usr/share/nodejs node push.cjs PROJECT JOB_ID TOKEN...
// Exits with 0 if all of it was sent, 1 if something failed, 69 if Redis cannot be reached.
const { createClient } = require('redis');

const [project, jobID, ...tokens] = process.argv.slice(2);
const base = `fanfare:{${project}}`;
const group = 'newsletter-node';
const url = process.env.REDIS_URL ?? 'redis://127.0.0.1:6379/0';
// By default the client would wait for Redis forever.
const unreachable = new Error('Redis cannot be reached');
const redis = createClient({ url, socket: { reconnectStrategy: (tries) => (tries < 5 ? 200 : unreachable) } });
redis.on('error', (error) => console.error(error.message));

/** Hands over what the group has not acknowledged: first what this consumer was given before it crashed. */
async function read(stream, handle) {
  for (const id of ['0', '>']) {
    for (;;) {
      const reply = await redis.xReadGroup(group, 'one', { key: stream, id }, { COUNT: 100 });
      const entries = reply?.[0]?.messages ?? [];
      if (entries.length === 0) break;
      for (const entry of entries) {
        handle(entry.message);
        await redis.xAck(stream, group, entry.id); // only now: a crash before this line has it read again
      }
    }
  }
}

function onResults(fields) {
  for (const result of JSON.parse(fields.results)) {
    // "sent": FCM accepted the message. It does not mean that a device showed it.
    console.log(`${fields.job} ${result.i} ${result.status} ${result.error ?? '-'}`);
  }
}

function onFeedback(fields) {
  // "remove": forget the token. "replace": use fields.replacement from now on.
  console.log(`feedback ${fields.action} ${fields.token ?? fields.fid}`);
}

/** Reads results and feedback until the job is over. Returns whether all of it was sent. */
async function follow(id) {
  for (;;) {
    const job = await redis.hGetAll(`${base}:job:${id}`); // empty until a worker has taken the job
    await read(`${base}:results`, onResults);
    await read(`${base}:feedback`, onFeedback);
    if (job.state === 'rejected') {
      console.error(`${id} is rejected: ${job.reason}`);
      return false;
    }
    if (['done', 'cancelled', 'expired'].includes(job.state)) {
      const counts = `${job.sent} sent, ${job.failed} failed, ${job.unknown} unknown of ${job.total}`;
      console.log(`${id} is ${job.state}: ${counts}`);
      return job.sent === job.total;
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

async function main() {
  await redis.connect();
  // Created before the first push and at the end of each stream ($), so that this group reads every result of its own
  // jobs and none that is older. It stays until XGROUP DESTROY.
  for (const name of ['results', 'feedback']) {
    await redis.xGroupCreate(`${base}:${name}`, group, '$', { MKSTREAM: true }).catch((error) => {
      if (!error.message.startsWith('BUSYGROUP')) throw error;
    });
  }

  // The id makes the push idempotent: repeated within 24 hours, it sends nothing.
  const message = { notification: { title: 'Hello', body: 'World' } };
  await redis.xAdd(`${base}:jobs`, '*', {
    id: jobID, tokens: JSON.stringify(tokens), message: JSON.stringify(message),
  });

  // A personal job: each recipient has a value for the placeholder.
  const personal = `${jobID}-personal`;
  const people = tokens.map((token) => ({ token, vars: { name: 'Ana' } }));
  const text = { notification: { title: 'Hello {{name|there}}', body: 'World' } };
  await redis.xAdd(`${base}:jobs`, '*', {
    id: personal, recipients: JSON.stringify(people), message: JSON.stringify(text),
  });
  console.log(`pushed ${jobID} and ${personal}`);

  const isSent = [await follow(jobID), await follow(personal)];
  return isSent.includes(false) ? 1 : 0;
}

main().then(
  (code) => redis.quit().then(() => process.exit(code)),
  (error) => {
    console.error(error.message);
    process.exit(redis.isReady ? 1 : 69);
  },
);
