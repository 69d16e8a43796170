// What docs/screenshots.py lets a browser do: node screenshots.cjs UI FOLDER form DEPLOYMENT DATASET | pages RUN
const { chromium } = require(process.env.PLAYWRIGHT);

const [ui, folder, what, ...given] = process.argv.slice(2);

async function form(page, deployment, dataset) {
  await page.setViewportSize({ width: 1360, height: 1850 });
  await page.goto(`${ui}/deployments/deployment/${deployment}/run`);
  const fields = page.locator("input, textarea");
  await fields.first().waitFor();
  await page.waitForTimeout(3000);
  for (let i = 0; i < (await fields.count()); i++) {
    const value = await fields.nth(i).inputValue().catch(() => "");
    if (value === "main_dataset") await fields.nth(i).fill(dataset);
  }
  await shot(page, "rebuild-form");
  await page.locator("button[type=submit]").last().click();
  await page.waitForURL((url) => !url.pathname.endsWith("/run"), { timeout: 60000 });
}

async function pages(page, run) {
  await page.goto(`${ui}/runs/flow-run/${run}`);
  await shot(page, "run");
  await page.getByText("Artifacts", { exact: true }).first().click();
  await shot(page, "artifacts");
  await page.goto(`${ui}/deployments`);
  await shot(page, "deployments");
}

async function shot(page, name) {
  await page.waitForTimeout(5000);
  await page.screenshot({ path: `${folder}/${name}.png` });
}

(async () => {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM,
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--disable-sync"],
  });
  const page = await browser.newPage({ viewport: { width: 1360, height: 1000 } });
  await { form, pages }[what](page, ...given);
  await browser.close();
})();
