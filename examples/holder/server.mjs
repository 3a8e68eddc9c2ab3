// A register server in Node: n1 holds all registers, and every other node says so.
//
//     node server.mjs NODE ADDRESS PORT DATA
import { createServer } from "node:net";
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, truncateSync, writeSync } from "node:fs";
import { createInterface } from "node:readline";

const [node, address, port, data] = process.argv.slice(2);
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
// What follows the last whole line was never acknowledged, and goes.
const whole = text.slice(0, text.lastIndexOf("\n") + 1);
truncateSync(path, Buffer.byteLength(whole));
for (const line of whole.split("\n").filter(Boolean)) apply(line);
const log = openSync(path, "a");

function answer(line) {
	if (line === "status") return { role: node === "n1" ? "leader" : "follower", term: 1, writes };
	if (node !== "n1") return { ask: "n1" };
	const text = line.slice("op ".length);
	const { f, key } = JSON.parse(text);
	if (f !== "write") return { type: "ok", value: values.get(key) ?? null };
	writeSync(log, `${text}\n`);
	fsyncSync(log);
	apply(text);
	return { type: "ok" };
}

createServer((socket) => {
	socket.on("error", () => socket.destroy());
	createInterface({ input: socket }).on("line", (line) => socket.write(`${JSON.stringify(answer(line))}\n`));
}).listen(Number(port), address, () => console.log(node, "listens and holds", writes, "writes"));
