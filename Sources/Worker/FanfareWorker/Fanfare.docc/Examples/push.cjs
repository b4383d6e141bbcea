// Usage: REDIS_URL=redis://127.0.0.1:6379/0 node push.cjs PROJECT JOB_ID TOKEN...
const { createClient } = require('redis');

const [project, jobID, ...tokens] = process.argv.slice(2);
const base = `fanfare:{${project}}`;
const group = 'newsletter-node';
const over = ['done', 'cancelled', 'expired', 'rejected'];
const redis = createClient({ url: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379/0' });
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

async function main() {
  await redis.connect();
  // Created before the first push, so that this group reads every result. It stays until XGROUP DESTROY.
  for (const name of ['results', 'feedback']) {
    await redis.xGroupCreate(`${base}:${name}`, group, '0', { MKSTREAM: true }).catch((error) => {
      if (!error.message.startsWith('BUSYGROUP')) throw error;
    });
  }

  // The id makes the push idempotent: repeated within 24 hours, it sends nothing.
  const message = { notification: { title: 'Hello', body: 'World' } };
  await redis.xAdd(`${base}:jobs`, '*', {
    id: jobID, tokens: JSON.stringify(tokens), message: JSON.stringify(message),
  });
  console.log(`pushed ${jobID}`);

  for (;;) {
    const job = await redis.hGetAll(`${base}:job:${jobID}`); // empty until a worker has taken the job
    await read(`${base}:results`, onResults);
    await read(`${base}:feedback`, onFeedback);
    if (over.includes(job.state)) {
      const counts = `${job.sent} sent, ${job.failed} failed, ${job.unknown} unknown of ${job.total}`;
      console.log(`${jobID} is ${job.state}: ${counts}`);
      break;
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  await redis.quit();
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
