// WebKit of a process with LANG=C names the language "c" or "en-US@posix", which Intl refuses, and a script that formats with it
// ends before it has drawn anything. Such a name counts as English. It is imported before what formats.
try { new Intl.NumberFormat(navigator.language); } catch { Object.defineProperty(navigator, 'language', {value: 'en', configurable: true}); }

// formatOf is a format of times in the reader's language, or in English where that has no proper name.
export function formatOf(options) {
  try { return new Intl.DateTimeFormat(undefined, options); } catch { return new Intl.DateTimeFormat('en', options); }
}
