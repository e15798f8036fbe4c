// Keeps the files of the page, and no data, so that the installed page opens without its server and says that it is
// gone. Shows what was tapped in a notification, and sends the answer that was given there.

const CACHE = "ralph";

// The page's own names of its files, which change with their content.
const files = (html) => [...html.matchAll(/(?:href|src)="(assets\/[^"]+)"/g)].map(([, file]) => new URL(file, registration.scope).href);

async function keep(response) {
  const page = new URL("./", registration.scope).href;
  const wanted = [page, ...files(await response.clone().text())];
  const cache = await caches.open(CACHE);
  const kept = (await cache.keys()).map(({ url }) => url);
  await cache.addAll(wanted.slice(1).filter((url) => !kept.includes(url)));
  await cache.put(page, response);
  await Promise.all(kept.filter((url) => !wanted.includes(url)).map((url) => cache.delete(url)));
}

addEventListener("install", (event) => {
  skipWaiting();
  event.waitUntil(fetch("./").then(keep));
});
addEventListener("activate", (event) => event.waitUntil(clients.claim()));

async function page(event) {
  try {
    const response = await fetch(event.request);
    if (response.ok) event.waitUntil(keep(response.clone()));
    return response;
  } catch {
    return (await caches.match(new URL("./", registration.scope).href)) ?? Response.error();
  }
}

addEventListener("fetch", (event) => {
  const { request } = event;
  const path = request.url.slice(registration.scope.length);
  if (request.mode === "navigate" && /^(#|$)/.test(path)) return event.respondWith(page(event));
  if (request.method === "GET" && path.startsWith("assets/")) event.respondWith(caches.match(request).then((kept) => kept ?? fetch(request)));
});

async function show(address) {
  const windows = await clients.matchAll({ type: "window", includeUncontrolled: true });
  const open = windows.find(({ url }) => url.startsWith(registration.scope));
  if (!open) return clients.openWindow(address);
  await open.focus();
  open.postMessage({ address });
}

async function answer({ route, address, title }, body) {
  const response = await fetch(new URL(route, registration.scope), {
    method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body),
  });
  if (response.ok) return;
  const { detail } = await response.json().catch(() => ({}));
  await registration.showNotification(`Not answered: ${title}`, { body: detail ?? "", data: { address } });
}

addEventListener("notificationclick", (event) => {
  const { action, notification } = event;
  notification.close();
  const { data } = notification;
  if (action === "allow") event.waitUntil(answer(data, { type: "allow", remember: null }));
  else if (action === "deny") event.waitUntil(answer(data, { type: "deny", message: null }));
  else event.waitUntil(show(data.address));
});
