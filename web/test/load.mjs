// A module of the page for node: bundled, and imported from memory.
import { build } from "esbuild";
import { fileURLToPath } from "node:url";

export async function load(name) {
  const result = await build({
    entryPoints: [fileURLToPath(new URL(`../src/${name}.ts`, import.meta.url))],
    bundle: true,
    write: false,
    format: "esm",
    logLevel: "warning",
  });
  return import(`data:text/javascript;base64,${Buffer.from(result.outputFiles[0].text).toString("base64")}`);
}
