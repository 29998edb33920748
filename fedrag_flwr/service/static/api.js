// Requests to the device's service, with its token, which is asked for once and kept for as long as the tab is open.

const KEY = "fedrag-token";
let asking = null;

export class Refused extends Error {
  constructor(status, what) {
    super(what);
    this.status = status;
  }
}

export async function call(path, options) {
  const response = await send(path, options);
  return response.status === 204 ? null : response.json().catch(() => null);
}

// A question whose answer comes in lines of JSON: its text while it grows, then the answer.
export async function listenTo(path, body, heard) {
  const response = await send(path, { method: "POST", body });
  let rest = "", last = {};
  for await (const piece of pieces(response.body.pipeThrough(new TextDecoderStream()))) {
    const lines = (rest + piece).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      last = JSON.parse(line);
      if (last.text !== undefined) heard(last.text);
    }
  }
  if (!last.answer) throw new Refused(500, last.what || "The answer broke off.");
  return last.answer;
}

async function* pieces(stream) { // not every browser goes through a stream by itself
  const reader = stream.getReader();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } catch {
    throw new Refused(0, "The device's service does not answer.");
  }
}

async function send(path, { method = "GET", body } = {}) {
  const headers = { Authorization: `Bearer ${sessionStorage.getItem(KEY) || (await askForToken(""))}` };
  const file = body instanceof Blob;
  if (body !== undefined) headers["Content-Type"] = file ? "application/octet-stream" : "application/json";
  let response;
  try {
    response = await fetch(path, { method, headers, body: body === undefined || file ? body : JSON.stringify(body) });
  } catch {
    throw new Refused(0, "The device's service does not answer.");
  }
  if (response.status === 401) {
    sessionStorage.removeItem(KEY);
    await askForToken("That is not the token of this device.");
    return send(path, { method, body });
  }
  if (response.ok) return response;
  const told = await response.json().catch(() => null);
  throw new Refused(response.status, (told && told.what) || `The service said ${response.status}.`);
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
