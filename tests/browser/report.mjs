// Clicks through a report in headless Chromium, as a person would: from disk, on a phone, in the dark, without
// JavaScript, and live. Called by crates/report/tests/suite/browser.rs with
//   REPORT (a written report), SOURCE (a program by truthfulness), HOSTILE (pages full of attacks),
//   LIVE (a served report), GROWING (one that gets a finding once the file GO is there), SHOTS (where
//   screenshots go).
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const { REPORT, SOURCE, HOSTILE, LIVE, GROWING, GO, SHOTS } = process.env;
mkdirSync(SHOTS, { recursive: true });
const data = JSON.parse(readFileSync(join(REPORT, "report.json"), "utf8"));
const index = pathToFileURL(join(REPORT, "index.html")).href;

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  // tests run as root in CI, where Chromium has no sandbox of its own
  args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
});
const troubles = [];

async function open(options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(60000); // a busy machine is not a broken page
  page.on("pageerror", (error) => troubles.push(`${page.url()}: ${error}`));
  page.on("console", (message) => {
    if (message.type() === "error") troubles.push(`${page.url()}: ${message.text()}`);
  });
  page.on("request", (request) => {
    const url = request.url();
    if (!["file:", LIVE, GROWING].some((ours) => url.startsWith(ours))) troubles.push(`left the report: ${url}`);
  });
  return page;
}

const shoot = (page, name) => page.screenshot({ path: join(SHOTS, name), fullPage: true });

async function noSidewaysScroll(page, what) {
  const { wide, room } = await page.evaluate(() => ({
    wide: document.documentElement.scrollWidth,
    room: document.documentElement.clientWidth,
  }));
  assert.ok(wide <= room, `${what}: the page is ${wide} wide in a window of ${room}`);
}

// titles mark code by backticks, pages by <code>
const squeezed = (text) => text.replace(/`/g, "").replace(/\s+/g, " ").trim();

// What the page of a finding shows must be what the JSON says.
async function valuesEqualJson(page, finding) {
  const exhibit = finding.exhibit;
  let compared = 0;
  for (const line of exhibit.source.lines) {
    const shown = await page.locator(`#L${line.number} .v`).evaluateAll((rows) =>
      rows.map((row) => ({
        variable: row.querySelector(".x").textContent,
        truth: row.querySelector(".r").textContent,
        shown: row.querySelector(".s").textContent,
        classes: [...row.classList],
      })));
    assert.equal(shown.length, (line.values ?? []).length, `line ${line.number}`);
    for (const [place, value] of (line.values ?? []).entries()) {
      const name = value.parts === 1 ? value.variable : `${value.variable} ×${value.parts}`;
      assert.equal(shown[place].variable, name);
      assert.equal(shown[place].truth, value.truth ?? "");
      assert.equal(shown[place].shown, value.shown);
      const css = { "optimised-out": "out", "ill-formed": "ill" }[value.class] ?? value.class;
      assert.ok(shown[place].classes.includes(css), `${name}: ${shown[place].classes} for ${value.class}`);
      compared += 1;
    }
    const text = await page.locator(`#L${line.number} .t`).textContent();
    assert.equal(text, line.text);
  }
  if (exhibit.subject) {
    assert.ok(compared > 0, "values were compared");
    const versus = await page.locator("#versus .value").allTextContents();
    assert.deepEqual(versus, [exhibit.subject.truth ?? "unknown", exhibit.subject.shown]);
  }
  const cells = await page.locator("#builds + .box tbody td:not(.row)").allTextContents();
  const affected = cells.filter((text) => text === "wrong").length;
  assert.equal(affected, exhibit.builds.filter((build) => build.state === "affected").length);
  const moments = await page.locator("#moments tbody tr").count();
  assert.equal(moments, exhibit.history.moments.length);
  return compared;
}

// Overview, by mouse.
const page = await open();
await page.goto(index);
assert.equal(await page.locator(".findings li").count(), data.findings.length);
await shoot(page, "overview.png");
await noSidewaysScroll(page, "overview");
await page.locator(".filter input").fill("ill-formed");
assert.equal(await page.locator(".findings li:visible").count(),
  data.findings.filter((finding) => finding.kind === "ill-formed-location").length);
await page.locator(".filter input").fill("");

// Overview → each finding → its values, its text.
let compared = 0;
for (const finding of data.findings) {
  await page.goto(index);
  await page.locator(".findings a", { hasText: squeezed(finding.title) }).first().click();
  await page.waitForURL((url) => url.pathname.includes("/finding/"));
  assert.equal(squeezed(await page.locator("h1").textContent()), squeezed(finding.title));
  compared += await valuesEqualJson(page, finding);
  assert.equal(await page.locator("#tracker-text").textContent(), finding.tracker);
  await noSidewaysScroll(page, finding.title);
  await shoot(page, `finding-${finding.kind}-${finding.compiler}.png`);
}
assert.ok(compared > 20, `${compared} values compared with the JSON`);

// The copy button, with the clipboard read back.
const wrong = data.findings.find((finding) => finding.kind === "wrong-value");
const copying = await open({ permissions: ["clipboard-read", "clipboard-write"] });
await copying.goto(index);
await copying.locator(".findings a", { hasText: squeezed(wrong.title) }).first().click();
const button = copying.getByRole("button", { name: "Copy the text for the bug tracker" });
await button.click();
await copying.getByText("Copied").waitFor();
assert.equal(await copying.evaluate(() => navigator.clipboard.readText()), wrong.tracker);
const href = await copying.locator('a[href$="opt_me_not.c"]').first().getAttribute("href");
assert.ok(href, "the files of the reproduction are linked");

// The program as it was found.
await copying.locator('a[href^="../source/"]').click();
assert.equal(await copying.locator(".cover .line").count(), wrong.exhibit.whole.lines.length);
await shoot(copying, "source.png");
await copying.close();

// A phone.
const phone = await open({ viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 });
await phone.goto(index);
await noSidewaysScroll(phone, "overview on a phone");
await shoot(phone, "phone-overview.png");
for (const finding of data.findings) {
  await phone.goto(new URL(`finding/${finding.id}.html`, index).href);
  await noSidewaysScroll(phone, `${finding.title} on a phone`);
  if (finding === wrong) await shoot(phone, "phone-finding.png");
}
await phone.goto(pathToFileURL(join(SOURCE, "index.html")).href);
await noSidewaysScroll(phone, "builds on a phone");
await phone.locator("tbody a").first().click();
await noSidewaysScroll(phone, "source on a phone");
await shoot(phone, "phone-source.png");
await phone.close();

// In the dark: the same page, dark paper and light ink.
const dark = await open({ colorScheme: "dark" });
await dark.goto(new URL(`finding/${wrong.id}.html`, index).href);
const brightness = (colour) => colour.match(/\d+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0);
const [paper, ink] = await dark.evaluate(() => {
  const style = getComputedStyle(document.documentElement);
  return [style.backgroundColor, style.color];
});
assert.ok(brightness(paper) < 150 && brightness(ink) > 500, `${ink} on ${paper}`);
await shoot(dark, "dark-finding.png");
await dark.goto(index);
await shoot(dark, "dark-overview.png");
await dark.close();

// Without JavaScript everything is there but the comfort.
const plain = await open({ javaScriptEnabled: false });
await plain.goto(index);
await plain.locator(".findings a", { hasText: squeezed(wrong.title) }).first().click();
assert.equal(await plain.locator("#tracker-text").textContent(), wrong.tracker);
assert.equal(await plain.locator("button").count(), 0);
await valuesEqualJson(plain, wrong);
await plain.close();

// Hostile text stays text.
for (const name of readdirSync(HOSTILE).filter((name) => name.endsWith(".html"))) {
  const evil = await open({ viewport: { width: 360, height: 740 } });
  await evil.goto(pathToFileURL(join(HOSTILE, name)).href);
  await evil.waitForTimeout(200);
  assert.ok(!(await evil.title()).startsWith("pwned"), name);
  assert.equal(await evil.locator("img").count(), 0, name);
  await noSidewaysScroll(evil, name);
  if (name === "finding.html") await shoot(evil, "hostile-finding.png");
  await evil.close();
}

// Live, under its content security policy.
const live = await open();
await live.goto(LIVE);
assert.equal(await live.locator(".findings li").count(), data.findings.length);
await live.locator(".findings a").first().click();
await live.locator("#tracker-text").waitFor();
const family = await live.evaluate(() => getComputedStyle(document.querySelector("#tracker-text")).fontFamily);
assert.match(family, /mono/i, "the style sheet is let in");
assert.ok((await live.locator("button").count()) > 0, "the script is let in");
await live.close();

// What a hunt finds appears on a page that is open; nobody reloads it.
const watching = await open();
await watching.goto(GROWING);
await watching.getByText("Nothing found yet.").waitFor();
await watching.evaluate(() => { window.same = true; });
writeFileSync(GO, "");
await watching.getByRole("link", { name: "a finding that came later" }).waitFor({ timeout: 60000 });
assert.equal(await watching.evaluate(() => window.same), true, "the page was not loaded again");
await watching.close();

await browser.close();
assert.deepEqual(troubles, []);
console.log("all steps done");
