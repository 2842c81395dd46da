// node build.mjs OUT_DIR: bundles the page's script into OUT_DIR/page.js, and that of charts in notebooks into OUT_DIR/notebook.js.
import { build } from "esbuild";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

// Vega as its authors bundled it: its packages, installed one by one, come in several versions of each other.
const vegaAsBundled = {
  name: "vega-as-bundled",
  setup(building) {
    building.onResolve({ filter: /^vega$/ }, () => ({ path: "vega.min.js", namespace: "vega" }));
    building.onLoad({ filter: /./, namespace: "vega" }, async () => ({
      contents: await readFile(new URL("node_modules/vega/build/vega.min.js", import.meta.url), "utf8"),
    }));
  },
};

// The bundle stands between <script> and </script>, where these two would end it or change how it is read. Both occur, if at all, inside
// strings and regular expressions, where a backslash changes nothing.
export function escapeForScript(code) {
  return code.replaceAll(/<(?=\/script)/gi, "\\x3c").replaceAll("<!--", "\\x3c!--");
}

export async function bundle(entry = "main") {
  const result = await build({
    entryPoints: [fileURLToPath(new URL(`src/${entry}.ts`, import.meta.url))],
    bundle: true,
    plugins: [vegaAsBundled],
    write: false,
    format: "iife",
    minify: true,
    target: "es2020",
    charset: "utf8",
    legalComments: "none",
    logLevel: "warning",
  });
  return escapeForScript(result.outputFiles[0].text);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const directory = process.argv[2];
  if (directory === undefined) {
    console.error("usage: node build.mjs OUT_DIR");
    process.exit(2);
  }
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, "page.js"), await bundle());
  await writeFile(join(directory, "notebook.js"), await bundle("notebook"));
}
