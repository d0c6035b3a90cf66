/**
 * The page's style sheet: colour-blind people can distinguish the colours of in and out, too. System fonts, since
 * nothing is loaded. Paper is always light.
 */
export const STYLE = `
:root {
  color-scheme: light dark;
  --paper: #fff; --ink: #1c2126; --quiet: #5c6670; --line: #7f8890; --surface: #eef3f1; --rule: #dde2e6;
  --in: #0a6a9c; --out: #b8430c; --heat: #0a6a9c;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --paper: #14181b; --ink: #e8e6e1; --quiet: #a0a9b1; --line: #6f7a84; --surface: #1f272b; --rule: #2e363c;
    --in: #63b8e6; --out: #f59160; --heat: #63b8e6;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 1.5rem 1rem 3rem; max-width: 78rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif; font-variant-numeric: tabular-nums;
}
h1, h2 { line-height: 1.2; text-wrap: balance; }
h1 { margin: 0; font-size: 1.75rem; overflow-wrap: anywhere; }
h2 { margin: 0 0 .75rem; font-size: 1.25rem; overflow-wrap: anywhere; }
p { margin: .5rem 0; max-width: 46rem; overflow-wrap: anywhere; }
header p, .note, .nothing { color: var(--quiet); }
.note { font-size: .875rem; }
main { display: grid; grid-template-columns: minmax(0, 1fr); }
section { margin-top: 1.75rem; padding-top: 1.25rem; border-top: 1px solid var(--rule); min-width: 0; }
dl, dd, figure { margin: 0; }
dt { color: var(--quiet); font-size: .875rem; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.25rem, 1fr)); gap: .75rem; }
.tiles div { padding: .75rem .875rem; background: var(--surface); border-radius: .5rem; }
.tiles b { display: block; font-size: 1.5rem; font-weight: 600; line-height: 1.3; }
.tiles span { color: var(--quiet); font-size: .8125rem; line-height: 1.35; display: block; }
.facts { margin-top: 1rem; }
.facts div { display: grid; grid-template-columns: 7rem 1fr; gap: .75rem; padding: .25rem 0; align-items: baseline; }
.facts dd { overflow-wrap: anywhere; max-width: 46rem; }
.pair, .maps, .strokes, .charts { display: grid; gap: 1.25rem 1rem; align-items: start; }
.pair { grid-template-columns: minmax(0, 1fr); }
.maps { grid-template-columns: repeat(2, minmax(0, 19rem)); }
.strokes { grid-template-columns: repeat(auto-fill, minmax(8rem, 1fr)); }
.pair, .maps, .strokes { margin-bottom: 1rem; }
.charts { grid-template-columns: repeat(auto-fit, minmax(min(19rem, 100%), 1fr)); }
svg { display: block; width: 100%; height: auto; overflow: visible; font-size: 11px; fill: currentColor; text-anchor: middle; }
.maps svg, .strokes svg { border: 1px solid var(--rule); border-radius: .375rem; overflow: hidden; }
.charts svg { max-width: 27rem; }
svg text { white-space: pre; }
figcaption { margin-top: .375rem; color: var(--quiet); font-size: .8125rem; line-height: 1.35; overflow-wrap: anywhere; }
figcaption b { display: block; color: var(--ink); font-size: .9375rem; font-weight: 600; }
.legend { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; margin: 0 0 .75rem; font-size: .875rem; }
.legend span::before { display: inline-block; width: 1.25em; font-weight: 700; }
.legend .in::before { content: "●"; color: var(--in); }
.legend .out::before { content: "✕"; color: var(--out); }
.scroll { overflow-x: auto; max-width: 100%; margin: .75rem 0; }
.pair .scroll { margin-top: 0; }
table { border-collapse: collapse; font-size: .875rem; }
th, td { padding: .3125rem .75rem .3125rem 0; border-bottom: 1px solid var(--rule); text-align: left; vertical-align: top; white-space: nowrap; }
thead th { color: var(--quiet); font-weight: 400; vertical-align: bottom; overflow-wrap: normal; }
tbody th { font-weight: 600; }
th, td:not(.number) { white-space: normal; overflow-wrap: anywhere; }
.number { text-align: right; }
thead .number { padding-left: .75rem; }
@media (min-width: 48rem) {
  .pair { grid-template-columns: minmax(18rem, 2fr) minmax(0, 3fr); column-gap: 2rem; }
}
@media screen and (max-width: 40rem) {
  #method .facts div { grid-template-columns: 1fr; gap: 0; padding: .5rem 0; }
  .wide thead { position: absolute; clip-path: inset(50%); width: 1px; height: 1px; overflow: hidden; }
  .wide, .wide tbody, .wide tr, .wide th, .wide td { display: block; border: 0; white-space: normal; overflow-wrap: anywhere; }
  .wide tr { padding: .5rem 0; border-bottom: 1px solid var(--rule); }
  .wide th, .wide td, .wide .number { padding: .0625rem 0; text-align: left; }
  .wide td::before { content: attr(data-heading) ": "; color: var(--quiet); }
}
:focus-visible { outline: 2px solid var(--in); outline-offset: 2px; }
footer { margin-top: 2.5rem; color: var(--quiet); font-size: .8125rem; }
@media print {
  @page { size: A4; margin: 14mm 13mm; }
  :root { color-scheme: light; }
  body { padding: 0; max-width: none; font-size: 10pt; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  h2, .legend { break-after: avoid; }
  figure, tr, .tiles, .pair, #method { break-inside: avoid; }
  .tiles b { font-size: 1.25rem; }
  .maps svg, .strokes svg { width: auto; max-width: 100%; max-height: 62mm; }
  .strokes svg { max-height: 38mm; }
  .pair { grid-template-columns: repeat(2, minmax(0, 1fr)); }
  .strokes { grid-template-columns: repeat(6, 1fr); }
  .maps, .charts { grid-template-columns: repeat(2, 1fr); }
  .pair .charts { grid-template-columns: 1fr; }
  .scroll { overflow: visible; }
  table { font-size: 8.5pt; }
  th, td { padding-block: .125rem; white-space: normal; overflow-wrap: break-word; }
  td.number { white-space: nowrap; }
}
`;
