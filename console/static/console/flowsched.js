/* What the pages do beyond links and forms. Every page works without it. */
"use strict";
(() => {
  const ACTIVE_MS = 5000,
    IDLE_MS = 60000,
    STALE_MS = 15000,
    MOVED_MS = 120000;
  const $ = (selector, root = document) => root.querySelector(selector);
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

  /* The browser's zone, for viewers who have chosen none. */
  if (!document.cookie.includes("fs_tz=")) {
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
    const secure = location.protocol === "https:" ? ";secure" : "";
    document.cookie = `fs_tz=${zone};path=/;max-age=31536000;samesite=lax${secure}`;
  }

  /* "in 3 h 12 min", from the times themselves. */
  const span = (seconds) => {
    const d = Math.floor(seconds / 86400),
      h = Math.floor(seconds / 3600) % 24;
    const m = Math.floor(seconds / 60) % 60,
      s = seconds % 60;
    if (d) return `${d} d` + (h && d < 10 ? ` ${h} h` : "");
    if (h) return `${h} h` + (m && h < 12 ? ` ${m} min` : "");
    if (m) return `${m} min` + (s && m < 5 ? ` ${s} s` : "");
    return `${s} s`;
  };
  const relative = () =>
    $$("[data-relative]").forEach((node) => {
      const seconds = Math.round((Date.parse(node.dataset.relative) - Date.now()) / 1000);
      const words = span(Math.abs(seconds));
      const text = seconds === 0 ? "now" : seconds > 0 ? `in ${words}` : `${words} ago`;
      if (node.textContent !== text) node.textContent = text;
    });
  setInterval(relative, 30000);

  /* Zone names, when the menu opens. */
  $$("[data-zones]").forEach((input) =>
    input.addEventListener(
      "focus",
      async () => {
        const list = document.getElementById(input.getAttribute("list"));
        if (list.childElementCount) return;
        const answer = await fetch(input.dataset.zones);
        if (!answer.ok) return;
        for (const [name, offset] of await answer.json()) {
          const option = document.createElement("option");
          option.value = name;
          option.label = offset;
          list.append(option);
        }
      },
      { once: true },
    ),
  );

  /* Keyboard: / goes to the search box, Escape closes menus and gives focus back. */
  document.addEventListener("keydown", (event) => {
    const typing = event.target.matches("input, textarea, select");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
      const box = $("[data-search]");
      if (box) {
        event.preventDefault();
        box.focus();
        box.select();
      }
    }
    if (event.key === "Escape") {
      const open = event.target.closest("details.menu[open]") || $("details.menu[open]");
      if (open) {
        open.open = false;
        $("summary", open).focus();
      }
    }
  });
  document.addEventListener("click", (event) =>
    $$("details.menu[open]").forEach((menu) => {
      if (!menu.contains(event.target)) menu.open = false;
    }),
  );

  /* Confirmation: the button stays locked until the number is typed, and works once. */
  $$("[data-unlocks]").forEach((input) => {
    const button = $("button[type=submit]", input.form);
    const check = () => {
      button.disabled = input.value.trim() !== input.dataset.unlocks;
    };
    input.addEventListener("input", check);
    check();
  });
  $$("form[data-once]").forEach((form) =>
    form.addEventListener("submit", (event) => {
      if (form.dataset.sent) event.preventDefault();
      form.dataset.sent = "1";
    }),
  );
  addEventListener("pageshow", (event) => {
    if (event.persisted) $$("form[data-once]").forEach((form) => delete form.dataset.sent);
  });
  const first = $("[data-focus]") || $("[data-cancel]");
  if (first && !$(".error[role=alert]")) first.focus();

  /* Lists: Shift takes a range of rows, and the bar says how many are taken. */
  let lastBox = null;
  document.addEventListener("click", (event) => {
    const box = event.target.closest("input[data-row]");
    if (!box) return;
    const boxes = $$("input[data-row]", box.form || document);
    if (event.shiftKey && lastBox) {
      const [a, b] = [boxes.indexOf(lastBox), boxes.indexOf(box)].sort((x, y) => x - y);
      boxes.slice(a, b + 1).forEach((each) => {
        each.checked = box.checked;
      });
    }
    lastBox = box;
    const bar = $("[data-bulk]");
    if (bar) {
      const count = boxes.filter((each) => each.checked).length;
      bar.hidden = count === 0;
      $("[data-bulk-count]", bar).textContent = `${count} selected`;
    }
  });

  /* The live region: refreshed while somebody looks and nothing inside is in use. */
  const live = $("[data-live]");
  if (live) {
    const line = $("[data-live-line]"),
      state = $("[data-live-state]"),
      pause = $("[data-live-pause]");
    let paused = false,
      moved = Date.now(),
      answered = Date.now(),
      asked = 0;
    ["pointermove", "keydown", "scroll"].forEach((name) =>
      addEventListener(
        name,
        () => {
          moved = Date.now();
        },
        { passive: true },
      ),
    );
    pause.addEventListener("click", () => {
      paused = !paused;
      pause.textContent = paused ? "Resume" : "Pause";
      state.textContent = paused ? "· paused" : "· refreshing";
    });
    const inUse = () => {
      const focus = document.activeElement;
      return (
        (live.contains(focus) && focus.matches("input, select, textarea, summary")) ||
        $("details[open].menu, dialog[open]", live)
      );
    };
    setInterval(() => {
      const active = live.dataset.active === "1" && Date.now() - moved < MOVED_MS;
      if (asked > answered && Date.now() - asked > STALE_MS) {
        const since = $("time", line).textContent;
        state.textContent = `· Not refreshing since ${since}: the server does not answer. This is the last known state.`;
        line.classList.add("stale");
      }
      if (
        paused ||
        document.hidden ||
        inUse() ||
        Date.now() - Math.max(answered, asked) < (active ? ACTIVE_MS : IDLE_MS)
      )
        return;
      asked = Date.now();
      live.dispatchEvent(new CustomEvent("fs:tick"));
    }, 1000);
    document.body.addEventListener("htmx:configRequest", (event) => {
      if (event.target === live) event.detail.headers["X-Seen"] = live.dataset.hash || "";
    });
    document.body.addEventListener("htmx:afterRequest", (event) => {
      if (event.target !== live || !event.detail.xhr.status) return;
      const xhr = event.detail.xhr;
      if (xhr.status !== 200 && xhr.status !== 204) {
        if (xhr.status !== 401)
          state.textContent = `· The server answered ${xhr.status}. This is the last known state.`;
        return;
      }
      answered = Date.now();
      line.classList.remove("stale");
      if (!paused) state.textContent = "· refreshing";
      const at = xhr.getResponseHeader("X-As-Of"),
        text = xhr.getResponseHeader("X-As-Of-Text");
      if (at) {
        const time = $("time", line);
        time.dateTime = at;
        time.textContent = text;
      }
      live.dataset.hash = xhr.getResponseHeader("X-Hash") || "";
      live.dataset.active = xhr.getResponseHeader("X-Active") || "0";
      relative();
    });
  }

  /* A refresh keeps focus (the same link, by its address or its data-key), opened details and scrolled boxes (by id). */
  let kept = null,
    opened = [],
    scrolled = [];
  document.addEventListener("htmx:beforeSwap", (event) => {
    const focus = document.activeElement;
    opened = $$("details[open][id]", event.detail.target).map((each) => each.id);
    scrolled = $$(".scroll[id]", event.detail.target).map((each) => [each.id, each.scrollLeft, each.scrollTop]);
    if (!event.detail.target.contains(focus)) {
      kept = null;
      return;
    }
    kept = focus.dataset.key
      ? `[data-key="${CSS.escape(focus.dataset.key)}"]`
      : focus.getAttribute("href")
        ? `[href="${CSS.escape(focus.getAttribute("href"))}"]`
        : null;
  });
  document.addEventListener("htmx:afterSwap", (event) => {
    opened.forEach((id) => {
      const same = document.getElementById(id);
      if (same) same.open = true;
    });
    scrolled.forEach(([id, left, top]) => {
      const same = document.getElementById(id);
      if (same) same.scrollTo(left, top);
    });
    const again = kept && $(kept, event.detail.target);
    if (again) again.focus({ preventScroll: true });
  });

  /* Signed out while the page stood open. */
  document.addEventListener("htmx:responseError", (event) => {
    if (event.detail.xhr.status !== 401 || $("[data-signed-out]")) return;
    const notice = document.createElement("p");
    notice.className = "banner bad";
    notice.setAttribute("role", "alert");
    notice.dataset.signedOut = "";
    const link = document.createElement("a");
    link.href = `/admin/login/?next=${encodeURIComponent(location.pathname + location.search)}`;
    link.textContent = "Sign in again";
    notice.append("You were signed out. ", link);
    $("#content").prepend(notice);
  });

  /* A form that was changed is not left by accident. */
  const dirty = $("form[data-dirty]");
  if (dirty) {
    let changed = false;
    dirty.addEventListener("input", () => {
      changed = true;
    });
    dirty.addEventListener("submit", () => {
      changed = false;
    });
    addEventListener("beforeunload", (event) => {
      if (changed) event.preventDefault();
    });
  }

  /* A form with a preview: 300 ms of quiet, the newest answer wins (hx-sync on the form drops the older request). */
  $$("form[data-preview]").forEach((form) => {
    let timer;
    const later = () => {
      clearTimeout(timer);
      timer = setTimeout(() => form.dispatchEvent(new CustomEvent("fs:preview")), 300);
    };
    form.addEventListener("input", later);
    form.addEventListener("change", later);
  });

  /* Schedule form: what the preview refuses marks its field, once that field was left. */
  const schedule = $("#schedule-form");
  if (schedule) {
    const left = new Set(),
      panel = $(".preview", schedule),
      preview = $("#preview"),
      away = $("#preview-unavailable");
    const mark = () => {
      const said = new Map($$("[data-errors] li", preview).map((item) => [item.dataset.field, item]));
      $$("[data-error-for]", schedule).forEach((place) => {
        const name = place.dataset.errorFor,
          field = document.getElementById(`id_${name}`),
          item = said.get(name);
        if (field === document.activeElement && place.hidden) return;
        const shown = item && (!place.hidden || (left.has(name) && !("missing" in item.dataset)));
        place.textContent = shown ? item.textContent : "";
        place.hidden = !shown;
        if (field && field.matches("input, select, textarea")) field.toggleAttribute("aria-invalid", Boolean(shown));
      });
    };
    schedule.addEventListener("focusout", (event) => {
      left.add(event.target.name);
      setTimeout(mark);
    });
    let slow;
    schedule.addEventListener("htmx:beforeRequest", (event) => {
      if (event.detail.target !== preview) return;
      clearTimeout(slow);
      preview.setAttribute("aria-busy", "true");
      $(".checking", panel).textContent = "Checking…";
      slow = setTimeout(() => {
        $(".checking", panel).textContent = "Still checking…";
      }, 1000);
    });
    const settled = () => {
      clearTimeout(slow);
      preview.setAttribute("aria-busy", "false");
    };
    const lost = (event) => {
      if (event.detail.target !== preview) return;
      const id = event.detail.xhr && event.detail.xhr.getResponseHeader("X-Request-ID");
      away.textContent = `The preview is not available${id ? ` (id ${id.slice(0, 8)})` : ""}. You can still save; the same checks run then.`;
      away.hidden = false;
      settled();
    };
    ["htmx:responseError", "htmx:sendError", "htmx:timeout"].forEach((name) => schedule.addEventListener(name, lost));

    /* Its rack picker: a combobox over hits of the server, and the list, whose change the preview is told of. */
    const search = $("[data-combobox]"),
      hits = $("#rack-hits"),
      pick = $("#id_pick"),
      add = $("#rack-add");
    schedule.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && event.target.matches("[data-zones]")) event.preventDefault(); // it takes a name of the list
    });
    schedule.addEventListener("change", (event) => {
      if (event.target.matches("[data-all-type]")) $("#apply-all").dispatchEvent(new CustomEvent("fs:all"));
    });
    const racks = () => ($("[data-racks]", schedule) || {}).value;
    let before = racks();
    schedule.addEventListener("htmx:afterSwap", (event) => {
      if (event.detail.target === preview) {
        away.hidden = true;
        settled();
        mark();
        relative();
      }
      if (event.detail.target.id === "call-target") schedule.dispatchEvent(new Event("input"));
      if (event.detail.target.id !== "racks") return;
      if (search) {
        search.value = "";
        pick.value = "";
        close();
      }
      if (racks() !== before) {
        before = racks();
        schedule.dispatchEvent(new Event("input"));
      }
      if (search && document.activeElement === document.body) search.focus();
    });
    $$("[data-set]", schedule).forEach((button) =>
      button.addEventListener("click", (event) => {
        const field = document.getElementById(button.dataset.set);
        event.preventDefault();
        field.value = button.dataset.value;
        field.dispatchEvent(new Event("input", { bubbles: true }));
      }),
    );
    const options = () => $$("[role=option]", hits);
    const close = () => {
      if (hits) {
        hits.hidden = true;
        choose(-1);
      }
    };
    const choose = (index) => {
      options().forEach((option, i) => option.setAttribute("aria-selected", String(i === index)));
      const option = options()[index];
      if (option) {
        search.setAttribute("aria-activedescendant", option.id);
        option.scrollIntoView({ block: "nearest" });
      } else search.removeAttribute("aria-activedescendant");
      search.setAttribute("aria-expanded", String(!hits.hidden));
    };
    const take = (option) => {
      pick.value = option ? option.dataset.pick : "";
      add.click();
    };
    if (search) {
      let quiet;
      search.addEventListener("input", (event) => {
        event.stopPropagation(); // a search is no change of the form
        clearTimeout(quiet);
        pick.value = "";
        quiet = setTimeout(() => search.dispatchEvent(new CustomEvent("fs:search")), 200);
      });
      hits.addEventListener("htmx:afterSwap", () => {
        hits.hidden = !hits.textContent.trim();
        choose(-1);
        const said = $("[data-said]", hits);
        $("#rack-hits-said").textContent = said ? said.textContent : "";
      });
      search.addEventListener("keydown", (event) => {
        const at = options().findIndex((option) => option.getAttribute("aria-selected") === "true");
        const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
        if (step && options().length) {
          event.preventDefault();
          hits.hidden = false;
          choose((at + step + options().length + (at < 0 && step < 0 ? 1 : 0)) % options().length);
        } else if (event.key === "Enter") {
          event.preventDefault();
          if (options()[at] || search.value.trim()) take(options()[at]);
        } else if (event.key === "Escape") {
          close();
        }
      });
      search.addEventListener("blur", () => setTimeout(close, 150));
      search.addEventListener("paste", (event) => {
        const text = event.clipboardData.getData("text");
        if (!text.trim().includes("\n")) return;
        event.preventDefault();
        const names = $("#id_names");
        names.closest("details").open = true;
        names.value = [names.value, text].filter(Boolean).join("\n");
        add.click();
      });
      hits.addEventListener("pointerdown", (event) => event.preventDefault());
      hits.addEventListener("click", (event) => {
        const option = event.target.closest("[role=option]");
        if (option) take(option);
      });
    }
  }
})();
