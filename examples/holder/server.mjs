// A register server in Node: n1 holds all registers, and the other nodes pass their clients' requests on to it.
//
//     node server.mjs NODE ADDRESS PORT n1=ADDRESS:PORT,n2=ADDRESS:PORT,… DATA
import { connect, createServer } from "node:net";
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, truncateSync, writeSync } from "node:fs";
import { createInterface } from "node:readline";

const [node, address, port, peers, data] = process.argv.slice(2);
const first = peers.split(",")[0].split(/[=:]/)[1];
// How long a node waits for n1 (ms).
const PATIENCE = 500;
const path = `${data}/log`;
const values = new Map();
let writes = 0;

function apply(line) {
	const { key, value } = JSON.parse(line);
	values.set(key, value);
	writes += 1;
}

mkdirSync(data, { recursive: true });
closeSync(openSync(path, "a"));
const text = readFileSync(path, "utf8");
// Whatever follows the last whole line was never acknowledged and is dropped.
const whole = text.slice(0, text.lastIndexOf("\n") + 1);
truncateSync(path, Buffer.byteLength(whole));
for (const line of whole.split("\n").filter(Boolean)) apply(line);
const log = openSync(path, "a");

// Ask n1.  A request without an answer may have been carried out.
function passOn(line) {
	return new Promise((resolve) => {
		let connected = false;
		const link = connect({ host: first, port: Number(port) }, () => {
			connected = true;
			link.write(`${line}\n`);
		});
		const end = () => {
			link.destroy();
			const failed = { type: "fail", error: "no connection to n1" };
			resolve(connected ? { type: "info", error: "no answer from n1" } : failed);
		};
		link.setTimeout(PATIENCE, end);
		link.on("error", end);
		createInterface({ input: link })
			.on("line", (text) => {
				resolve(JSON.parse(text));
				link.destroy();
			})
			.on("error", end)
			.on("close", end);
	});
}

function answer(line) {
	if (line === "status") return { role: node === "n1" ? "leader" : "follower", term: 1, writes };
	if (node !== "n1") return passOn(line);
	const text = line.slice("op ".length);
	const { f, key } = JSON.parse(text);
	if (f !== "write") return { type: "ok", value: values.get(key) ?? null };
	writeSync(log, `${text}\n`);
	fsyncSync(log);
	apply(text);
	return { type: "ok" };
}

createServer((socket) => {
	const lines = createInterface({ input: socket });
	// If a connection is reset, both the socket and its lines report an error.
	for (const one of [socket, lines]) one.on("error", () => socket.destroy());
	lines.on("line", async (line) => {
		const text = JSON.stringify(await answer(line));
		if (!socket.destroyed) socket.write(`${text}\n`);
	});
}).listen(Number(port), address, () => console.log(node, "listens and holds", writes, "writes"));
