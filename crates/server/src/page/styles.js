// Lets xterm.js style what it draws under a policy that allows no inline styles.
//
// It writes rules into style elements and colours into `style` attributes, and the policy is right to allow neither:
// what an agent prints must not be able to do that. The same rules in a style sheet made by a script, and the same
// colours set through the style object, are allowed, since only a script of this page can do so.

let isDone = false;

export function withoutInlineStyles() {
  if (isDone) return;
  isDone = true;
  const sheets = new WeakMap();
  const text = Object.getOwnPropertyDescriptor(Node.prototype, "textContent");
  Object.defineProperty(HTMLStyleElement.prototype, "textContent", {
    configurable: true,
    get() {
      return text.get.call(this);
    },
    set(rules) {
      let sheet = sheets.get(this);
      if (!sheet) {
        sheet = new CSSStyleSheet();
        sheets.set(this, sheet);
        document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
      }
      sheet.replaceSync(rules);
    },
  });
  const remove = Element.prototype.remove;
  HTMLStyleElement.prototype.remove = function () {
    const sheet = sheets.get(this);
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((adopted) => adopted !== sheet);
    remove.call(this);
  };
  const setAttribute = Element.prototype.setAttribute;
  HTMLElement.prototype.setAttribute = function (name, value) {
    if (name === "style") this.style.cssText = value;
    else setAttribute.call(this, name, value);
  };
}
