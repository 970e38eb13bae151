// Names the tests of the files that are its arguments, a line each: file, tab, name.
const named: string[] = [];

function test(first: unknown, second?: unknown) {
  const said = (it: unknown) => (typeof it === "string" ? it : (it as { name?: string })?.name);
  named.push(said(first) || said(second) || "");
}

const hooks = ["beforeAll", "beforeEach", "afterAll", "afterEach"];
Object.assign(test, { ignore: test, only: test }, Object.fromEntries(hooks.map((hook) => [hook, () => {}])));
Object.defineProperty(Deno, "test", { value: test });
for (const file of Deno.args) {
  named.length = 0;
  await import(`file://${Deno.cwd()}/${file}`);
  for (const name of new Set(named)) console.log(`${file}\t${name}`);
}
Deno.exit(0);
