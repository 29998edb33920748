"""The report's style sheet."""

STYLE = """
:root {
  color-scheme: light dark;
  --page: #f6f7f9; --card: #ffffff; --ink: #16202e; --soft: #55627a; --line: #dde2ea; --tint: #eef2f8;
  --accent: #1d5fd1; --accent-soft: #d6e4fc; --good: #11734a; --good-soft: #d8f1e4; --bad: #b3261e;
    --bad-soft: #fbe1df;
  --memorizer: #0e7c74; --cognizer: #2f64cf; --remote: #8140c4; --cache: #a96207; --abstained: #667085;
  --missing: #b3261e; --other: #94527a; --up: #2f64cf; --down: #0e7c74; --on-fill: #ffffff;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #0f141b; --card: #171e28; --ink: #e7ecf4; --soft: #9fadc2; --line: #2b3544; --tint: #1f2835;
    --accent: #7fb0ff; --accent-soft: #22406e;
    --good: #6fd7a4; --good-soft: #153a2a; --bad: #ff9b93; --bad-soft: #48201e;
    --memorizer: #4cc9bd; --cognizer: #86adff; --remote: #c69bff; --cache: #f0b45c; --abstained: #a3adbd;
    --missing: #ff9b93; --other: #e39fc6; --up: #86adff; --down: #4cc9bd; --on-fill: #10161e;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
.skip { position: absolute; left: -999px; }
.skip:focus { left: 1rem; top: 1rem; background: var(--card); padding: .5rem 1rem; z-index: 9; }
header, main, footer { max-width: 1180px; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 2.25rem; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .35rem; letter-spacing: -.01em; }
h2 { font-size: 1.15rem; margin: 0 0 .25rem; letter-spacing: -.005em; }
h3 { font-size: .95rem; margin: 1rem 0 .35rem; }
p { margin: .25rem 0 .75rem; }
.soft, figcaption, caption { color: var(--soft); }
.facts { display: flex; flex-wrap: wrap; gap: .4rem 1.1rem; margin: 0; padding: 0; list-style: none;
  color: var(--soft); }
.facts b { color: var(--ink); font-weight: 600; }
nav { display: flex; flex-wrap: wrap; gap: .25rem 1rem; margin: 1rem 0 0; font-size: .92rem; }
a { color: var(--accent); text-decoration: none; }
a:hover { text-decoration: underline; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 3px; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 1.25rem;
  margin: 1.1rem 0;
  min-width: 0; scroll-margin-top: 1rem; }
.highlights { display: grid; grid-template-columns: repeat(auto-fit, minmax(220px, 1fr)); gap: 1rem;
  margin: 1.25rem 0 0; }
.highlight { background: var(--card); border: 1px solid var(--line); border-left: 4px solid var(--accent);
  border-radius: 12px; padding: .85rem 1.1rem; }
.highlight dt { color: var(--soft); font-size: .85rem; }
.highlight dd { margin: 0; overflow-wrap: anywhere; }
.highlight dd.name { font-size: 1.2rem; font-weight: 650; }
dl { margin: 0; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 460px), 1fr)); gap: 1.1rem;
  margin: 1.1rem 0; }
.pair section { margin: 0; }
.note { border-left: 3px solid var(--line); padding-left: .75rem; color: var(--soft); font-size: .9rem; }
.note.warn { border-color: var(--bad); color: var(--ink); }

.scroll { overflow-x: auto; margin: 0 -.25rem; padding: 0 .25rem; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding: 0 0 .6rem; font-size: .9rem; caption-side: top; }
caption span { display: block; max-width: calc(100vw - 4.25rem); }
th, td { padding: .5rem .65rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap;
  vertical-align: top; }
tbody tr:last-child > * { border-bottom: 0; }
thead th { white-space: normal; color: var(--soft); font-weight: 600; vertical-align: bottom;
  border-bottom: 2px solid var(--line); }
tbody th { font-weight: 600; }
th:first-child, td.text, th.text { text-align: left; } td.text { font-weight: 500; }
tbody th:first-child { position: sticky; left: 0; background: var(--card); min-width: 8.5rem; max-width: 16rem;
  white-space: normal; overflow-wrap: break-word; }
tbody tr:hover > * { background: var(--tint); }
thead button { all: unset; cursor: pointer; color: inherit; }
thead button:focus-visible { outline: 2px solid var(--accent); outline-offset: 3px; }
thead button::after { content: "↕"; opacity: .35; margin-left: .3em; }
th[aria-sort=ascending] button::after { content: "↑"; opacity: 1; color: var(--accent); }
th[aria-sort=descending] button::after { content: "↓"; opacity: 1; color: var(--accent); }
.best { font-weight: 700; color: var(--good); }
.best::before { content: "★"; font-size: .7em; vertical-align: .15em; margin-right: .3em; }
td small { display: block; color: var(--soft); font-weight: 400; font-size: .8rem; }
.meter { display: block; width: 5.5rem; height: 5px; border-radius: 3px; background: var(--tint);
  margin: .25rem 0 .1rem auto; }
.meter i { display: block; height: 100%; border-radius: 3px; background: var(--accent); }
.best .meter i { background: var(--good); }

figure { margin: 0; }
svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--soft); font-size: 12.5px; }
svg .name { fill: var(--ink); font-weight: 600; }
.grid { stroke: var(--line); stroke-width: 1; }
.axis { stroke: var(--soft); stroke-width: 1; }
.frontier { fill: none; stroke: var(--accent); stroke-width: 1.5; stroke-dasharray: 5 4; opacity: .75; }
.whisker { stroke: currentColor; stroke-width: 1.5; opacity: .55; }
.mark { color: var(--abstained); } .mark.on { color: var(--accent); }
.mark circle, .mark rect { fill: currentColor; stroke: var(--card); stroke-width: 2; }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1rem; list-style: none; margin: .5rem 0 .8rem; padding: 0;
  font-size: .88rem; color: var(--soft); }
.key { display: inline-block; width: .8em; height: .8em; border-radius: 3px; margin-right: .4em;
  vertical-align: -.05em; }
.stack { display: grid; grid-template-columns: minmax(6rem, 9.5rem) 1fr; gap: .6rem; align-items: center;
  margin: .4rem 0; }
.stack .who { font-weight: 600; font-size: .9rem; overflow-wrap: anywhere; }
.stack .phase { font-weight: 400; color: var(--soft); }
.bar { display: flex; height: 1.55rem; border-radius: 5px; overflow: hidden; min-width: 2px; gap: 1px; }
.bar span { display: block; overflow: hidden; color: var(--on-fill); font-size: .78rem; line-height: 1.55rem;
  text-align: center; font-weight: 600; min-width: 2px; }
.bar.thin { height: .7rem; }
.after { color: var(--soft); font-size: .8rem; }
.memorizer { background: var(--memorizer); fill: var(--memorizer); } .cognizer { background: var(--cognizer);
  fill: var(--cognizer); }
.remote { background: var(--remote); fill: var(--remote); } .cache { background: var(--cache); fill: var(--cache); }
.abstained { background: var(--abstained); fill: var(--abstained); }
.missing { background: var(--missing); fill: var(--missing); }
.other { background: var(--other); fill: var(--other); }
.up { background: var(--up); } .down { background: var(--down); }
.histogram { display: grid; grid-template-columns: minmax(6rem, 9.5rem) 1fr; gap: .6rem; align-items: end;
  margin: .3rem 0; }
.histogram svg { height: 54px; border-bottom: 1px solid var(--soft); }
.ticks { position: relative; height: 1.3rem; font-size: .78rem; color: var(--soft); grid-column: 2; }
.ticks span { position: absolute; transform: translateX(-50%); white-space: nowrap; }
.ticks span:first-child { transform: none; } .ticks span:last-child { transform: translateX(-100%); }

.filters { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: .6rem; margin: .75rem 0; }
.filters label { font-size: .82rem; color: var(--soft); }
.filters .wide { grid-column: span 2; }
input, select, .more { font: inherit; width: 100%; padding: .45rem .6rem; border: 1px solid var(--line);
  border-radius: 8px;
  background: var(--page); color: var(--ink); }
.more { width: auto; cursor: pointer; margin-top: .8rem; color: var(--accent); font-weight: 600; }
#list td, #list th { white-space: normal; text-align: left; }
#list th:first-child, #list td:first-child { min-width: 17rem; position: static; max-width: none; }
#list .verdict { text-align: center; white-space: nowrap; }
.open { all: unset; cursor: pointer; font-weight: 500; overflow-wrap: anywhere; }
.open:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.open::before { content: "▸"; color: var(--soft); display: inline-block; width: 1em; }
.open[aria-expanded=true]::before { content: "▾"; }
.tag { display: inline-block; padding: 0 .5em; border-radius: 1em; font-size: .8rem; font-weight: 600; }
.tag.right { background: var(--good-soft); color: var(--good); } .tag.wrong { background: var(--bad-soft);
  color: var(--bad); }
.tag.none { background: var(--tint); color: var(--soft); }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 300px), 1fr)); gap: .75rem;
  margin: .5rem 0; }
.card { border: 1px solid var(--line); border-radius: 10px; padding: .75rem .9rem; background: var(--page);
  overflow-wrap: anywhere; }
.card h4 { margin: 0 0 .3rem; font-size: .9rem; display: flex; gap: .5rem; justify-content: space-between;
  align-items: center; }
.card .said { font-size: 1rem; font-weight: 600; margin: .2rem 0; }
.card p { margin: .2rem 0; font-size: .85rem; }
.card code { font-size: .78rem; background: var(--tint); border-radius: 4px; padding: .05em .35em;
  margin: 0 .25em .25em 0;
  display: inline-block; overflow-wrap: anywhere; }
.path { max-width: 340px; margin: .5rem 0 .8rem; }
.path .tip { fill: var(--soft); } .path .where { font-size: 11px; opacity: .8; }
.vertex rect { fill: var(--tint); stroke: var(--line); } .vertex.asked rect { fill: var(--accent-soft); }
.vertex.bridge rect { stroke: var(--accent); stroke-width: 2; }
#list tr.detail:hover > * { background: none; }
mark { background: none; color: inherit; font-weight: 700; text-decoration: underline; }
details summary { cursor: pointer; color: var(--accent); font-weight: 600; }
.manifest { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 320px), 1fr)); gap: 0 2rem; }
.manifest td, .manifest th { text-align: left; white-space: normal; overflow-wrap: anywhere; padding: .3rem .4rem;
  font-weight: 400; }
.manifest th { color: var(--soft); }
footer { padding-bottom: 2.5rem; color: var(--soft); font-size: .85rem; }
@media (max-width: 640px) {
  body { font-size: 14px; } header, main, footer { padding-left: .75rem; padding-right: .75rem; }
  section { padding: .9rem; border-radius: 10px; }
  .stack, .histogram { grid-template-columns: 1fr; gap: .15rem; } .ticks { grid-column: 1; }
  .filters { grid-template-columns: 1fr 1fr; }
  #list .extra { display: none; } .plane text { font-size: 17px; }
  tbody th:first-child { min-width: 6.5rem; max-width: 9rem; }
}
@media print {
  body { background: none; } section { break-inside: avoid; } nav, .filters, .more { display: none; }
}
"""
