// Requests to the device's service, with its token, which is asked for once and kept for as long as the tab is open.

const KEY = "fedrag-token";
let asking = null;

export class Refused extends Error {
  constructor(status, what) {
    super(what);
    this.status = status;
  }
}

export async function call(path, { method = "GET", body } = {}) {
  const headers = { Authorization: `Bearer ${sessionStorage.getItem(KEY) || (await askForToken(""))}` };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch {
    throw new Refused(0, "The device's service does not answer.");
  }
  if (response.status === 401) {
    sessionStorage.removeItem(KEY);
    await askForToken("That is not the token of this device.");
    return call(path, { method, body });
  }
  const told = response.status === 204 ? null : await response.json().catch(() => null);
  if (!response.ok) throw new Refused(response.status, (told && told.what) || `The service said ${response.status}.`);
  return told;
}

function askForToken(wrong) {
  asking ??= new Promise((resolve, reject) => {
    const dialog = document.getElementById("token-dialog");
    const input = document.getElementById("token");
    document.getElementById("token-wrong").textContent = wrong;
    input.value = "";
    dialog.returnValue = "";
    document.getElementById("token-form").onsubmit = () => {
      const token = input.value.replace(/[^\x21-\x7e]/g, ""); // what is pasted may bring signs that no header may hold
      sessionStorage.setItem(KEY, token);
      resolve(token);
    };
    dialog.onclose = () => {
      asking = null;
      reject(new Refused(401, "Without the token this device shows nothing. Reload the page to enter it."));
    };
    dialog.showModal();
  });
  return asking;
}
