// Serves SQS on a free port of 127.0.0.1, prints the port, and ends with its standard input.
import { buildApp } from "fauxqs";

const app = await buildApp({ logger: false, host: "127.0.0.1" });
await app.listen({ host: "127.0.0.1", port: 0 });
process.stdin.on("end", () => process.exit(0)).resume();
console.log(app.server.address().port);
