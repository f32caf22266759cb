// VS Code in a browser: what a test does there, and what it reads.
import { chromium } from "playwright-core";

const PATIENCE = 60_000; // milliseconds

/** Opens a folder, with one file in the editor. */
export async function open(url, folder, file) {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox"],
  });
  const page = await browser.newPage({ viewport: { width: 980, height: 720 } });
  page.setDefaultTimeout(PATIENCE);
  await page.goto(`${url}/?folder=${folder}`);
  await page.locator(".monaco-workbench").waitFor();
  const workbench = new Workbench(browser, page);
  await workbench.command("View: Close All Editors");
  await workbench.show(file);
  return workbench;
}

class Workbench {
  constructor(browser, page) {
    this.browser = browser;
    this.page = page;
  }

  async close() {
    await this.browser.close();
  }

  /** Brings a file to the front. */
  async show(file) {
    await this.pick("Control+p", file);
    await this.page.locator(`.tab.active[data-resource-name="${file}"]`).waitFor();
  }

  /** Runs a command of the palette. */
  async command(title) {
    await this.pick("F1", `>${title}`);
  }

  async pick(keys, text) {
    const input = this.page.locator(".quick-input-widget input.input");
    for (let attempt = 0; !(await input.isVisible()); attempt += 1) {
      if (attempt > 30) throw new Error(`${keys} opens nothing`);
      await this.page.keyboard.press(keys);
      await this.page.waitForTimeout(500);
    }
    await input.fill(text);
    await this.page.locator(".quick-input-list .monaco-list-row.focused").waitFor();
    await this.page.waitForTimeout(300); // for the list to have settled
    await this.page.keyboard.press("Enter");
    await input.waitFor({ state: "hidden" });
  }

  /** Puts the cursor there; both count from 1. */
  async goTo(line, column) {
    await this.pick("Control+g", `:${line}:${column}`);
    await this.page.locator(".statusbar", { hasText: `Ln ${line}, Col ${column}` }).waitFor();
  }

  /** The rows of the Problems panel, as soon as `isDone(rows)` is true of them. */
  async problems(isDone) {
    return this.until(async () => {
      const texts = await this.page.locator(".markers-panel .monaco-list-row").allInnerTexts();
      return texts.map((text) => text.replace(/\s+/g, " ").trim());
    }, isDone);
  }

  /** The messages in the corner. */
  async messages(isDone) {
    const texts = () => this.page.locator(".notifications-toasts .notification-list-item-message").allInnerTexts();
    return this.until(texts, isDone);
  }

  /** What `read` gives, as soon as `isDone` is true of it. */
  async until(read, isDone) {
    const end = Date.now() + PATIENCE;
    for (;;) {
      const value = await read();
      if (isDone(value)) return value;
      if (Date.now() > end) throw new Error(`waited in vain; seen last: ${JSON.stringify(value)}`);
      await this.page.waitForTimeout(200);
    }
  }
}
