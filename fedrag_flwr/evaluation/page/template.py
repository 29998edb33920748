"""The report's markup as Jinja templates, rendered with autoescape on."""

_MACROS = r"""
{% macro grid(table, first="System") %}
<div class="scroll" tabindex="0" role="region" aria-labelledby="{{ table.id }}-caption">
<table class="sortable" id="{{ table.id }}-table">
<caption id="{{ table.id }}-caption"><span>{{ table.caption }}</span></caption>
<thead><tr>
<th scope="col"><button type="button">{{ first }}</button></th>
{% for heading, meaning in table.headings %}
<th scope="col"{% if heading in table.wordings %} class="text"{% endif %}
{%- if meaning %} title="{{ meaning }}"{% endif %}><button type="button">{{ heading }}</button></th>
{% endfor %}
</tr></thead>
<tbody>
{% for name, cells in table.rows %}
<tr><th scope="row">{{ name }}</th>
{%- for cell in cells -%}
{{ entry(cell) }}
{%- endfor -%}
</tr>
{% endfor %}
</tbody></table></div>
{% endmacro %}

{% macro entry(cell) -%}
<td class="{{ "text" if cell.wording }}{{ "best" if cell.best }}"
{%- if not cell.wording %} data-value="{{ "" if cell.value is none else cell.value }}"{% endif -%}
>{{ cell.text }}{% if cell.note %}<small>{{ cell.note }}</small>{% endif %}
{%- if cell.bar is not none %}<span class="meter"><i style="width:{{ "%.1f"|format(100 * cell.bar) }}%"></i></span>
{%- endif %}</td>
{%- endmacro %}

{% macro colour(path) -%}
{{ path if path in ("memorizer", "cognizer", "remote", "cache", "abstained", "missing", "up", "down") else "other" }}
{%- endmacro %}

{% macro legend(kinds) %}
<ul class="legend">{% for kind in kinds %}<li><i class="key {{ colour(kind) }}"></i>{{ kind }}</li>{% endfor %}</ul>
{% endmacro %}

{% macro plane_figure(plane) %}
<svg class="plane" viewBox="0 0 {{ plane.width }} {{ plane.height }}" role="img"
 aria-labelledby="plane-title plane-text">
<title id="plane-title">Accuracy against mean latency</title>
<desc id="plane-text">
{%- for mark in plane.marks %}{{ mark.dot.name }}: ACC {{ "%.1f"|format(100 * mark.dot.acc) }} at
{{ "%.3g"|format(mark.dot.seconds) }} seconds{{ " (frontier)" if mark.frontier }}. {% endfor -%}
</desc>
{% for tick in plane.y_ticks %}
<line class="grid" x1="{{ plane.left }}" x2="{{ plane.right }}" y1="{{ tick.at }}" y2="{{ tick.at }}"/>
<text x="{{ plane.left - 8 }}" y="{{ tick.at + 4 }}" text-anchor="end">{{ tick.label }}</text>
{% endfor %}
{% for tick in plane.x_ticks %}
<line class="axis" x1="{{ tick.at }}" x2="{{ tick.at }}" y1="{{ plane.bottom }}" y2="{{ plane.bottom + 5 }}"/>
<text x="{{ tick.at }}" y="{{ plane.bottom + 20 }}" text-anchor="middle">{{ tick.label }}</text>
{% endfor %}
<line class="axis" x1="{{ plane.left }}" x2="{{ plane.right }}" y1="{{ plane.bottom }}" y2="{{ plane.bottom }}"/>
<text x="{{ (plane.left + plane.right) / 2 }}" y="{{ plane.height - 6 }}" text-anchor="middle">
{{- "mean latency per answer, log scale" }}</text>
<text transform="rotate(-90)" x="{{ -(plane.top + plane.bottom) / 2 }}" y="14" text-anchor="middle">ACC, points</text>
<polyline class="frontier" points="{{ plane.frontier }}"/>
{% for mark in plane.marks %}
<g class="mark{{ " on" if mark.frontier }}">
<line class="whisker" x1="{{ mark.x }}" x2="{{ mark.x }}" y1="{{ mark.top }}" y2="{{ mark.bottom }}"/>
{% if mark.frontier %}<circle cx="{{ mark.x }}" cy="{{ mark.y }}" r="6.5"/>
{% else %}<rect x="{{ mark.x - 5.5 }}" y="{{ mark.y - 5.5 }}" width="11" height="11" rx="1.5"/>{% endif %}
<text class="name" x="{{ mark.label.x }}" y="{{ mark.label.y }}" text-anchor="{{ mark.label.anchor }}">
{{- mark.dot.name }}</text>
</g>
{% endfor %}
</svg>
{% endmacro %}

{% macro facts_table(title, facts) %}
{% if facts %}
<div><h3>{{ title }}</h3><table>
{% for key, value in facts.items() %}<tr><th scope="row">{{ key }}</th><td>{{ value }}</td></tr>{% endfor %}
</table></div>
{% endif %}
{% endmacro %}
"""

_PAGE = r"""{% from "macros" import grid, legend, colour, plane_figure, facts_table %}
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{{ script_hash }}'; base-uri 'none';
 form-action 'none'">
<meta name="referrer" content="no-referrer">
<title>{{ title ~ " – " if title }}Federated RAG evaluation</title>
<style>{{ style }}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the results</a>
<header>
<h1>Federated RAG evaluation{{ ": " ~ title if title }}</h1>
<ul class="facts">
<li><b>{{ systems|length }}</b> system{{ "s" if systems|length != 1 }}</li>
<li><b>{{ questions }}</b> question{{ "s" if questions != 1 }}</li>
{% if summary.devices %}
<li><b>{{ summary.devices|length }}</b> device{{ "s" if summary.devices|length != 1 }}</li>
{% endif %}
<li>seed <b>{{ summary.manifest.seed }}</b></li>
{% if summary.manifest.started %}
<li>started <b>{{ summary.manifest.started|replace("T", " ")|replace("+00:00", " UTC") }}</b></li>
{% endif %}
{% if summary.manifest.seconds %}<li>took <b>{{ took }}</b></li>{% endif %}
</ul>
{% if comparable %}
<dl class="highlights">
{% for what, who, how in highlights %}
<div class="highlight"><dt>{{ what }}</dt><dd class="name">{{ who }}</dd><dd class="soft">{{ how }}</dd></div>
{% endfor %}
</dl>
{% else %}
<p class="note">Not all systems were asked the same questions, so none is called the best, or unbeaten.</p>
{% endif %}
<nav aria-label="Sections">
<a href="#systems">Systems</a><a href="#tradeoff">Trade-off</a><a href="#paths">Paths</a><a href="#kinds">Kinds</a>
{% if summary.devices %}<a href="#devices">Devices</a>{% endif %}
<a href="#costs">Cost</a><a href="#answers">Answers</a><a href="#manifest">Manifest</a>
</nav>
</header>
<main id="main">
<section id="systems">
<h2>Systems side by side</h2>
{{ grid(quality) }}
{% if replayed %}
<p class="note">Answers replayed from the generation cache are left out of all latencies:
{% for name, share in replayed.items() %}{{ name }} {{ share }}%{{ ", " if not loop.last }}{% endfor %}.</p>
{% endif %}
{% if bounds %}
<p class="note">{{ bounds|join(", ") }}: answers chosen by the gold, an upper bound that no system reaches.
It is best of nothing.</p>
{% endif %}
{% for name, devices in lost.items() %}
<p class="note warn">{{ name }} went on without
{% for device, reason in devices.items() %}{{ device }} ({{ reason }}){{ ", " if not loop.last }}{% endfor %}.
Questions without a reply count as wrong.</p>
{% endfor %}
</section>

<div class="pair" id="tradeoff">
<section>
<h2>Accuracy against latency</h2>
<figure>
{% if plane %}{{ plane_figure(plane) }}{% endif %}
<figcaption>Up and to the left is better; bars are 95% intervals.
{% if comparable %}Circles on the dashed line are not beaten in both.{% endif %}
{% if unmeasured %}Without a measured latency: {{ unmeasured|join(", ") }}.{% endif %}</figcaption>
</figure>
</section>
<section>
<h2>How questions were answered</h2>
<figure>
{{ legend(paths + (["missing"] if systems.values()|selectattr("missing")|list else [])) }}
{% for stack in path_stacks %}
<div class="stack"><span class="who">{{ stack.name }}</span>
<div class="bar" role="img" aria-label="{{ stack.text }}">
{% for part in stack.segments %}
<span class="{{ colour(part.kind) }}" style="width:{{ "%.2f"|format(100 * part.share) }}%"
 title="{{ part.kind }} {{ part.text }}">{{ part.text if part.share >= 0.07 }}</span>
{% endfor %}
</div></div>
{% endfor %}
<figcaption>Share of all questions by path, averaged over devices.</figcaption>
</figure>
</section>
</div>

<section id="paths">
<h2>Latency by path</h2>
{% if histograms %}
<figure>
{{ legend(paths) }}
{% for one in histograms %}
<div class="histogram"><span><b>{{ one.system }}</b><br><span class="after">{{ one.n }} measured</span></span>
<svg viewBox="0 0 1 1" preserveAspectRatio="none" role="img"
 aria-label="Latency histogram of {{ one.system }}, {{ one.n }} answers">
{% for bar in one.bars %}
<rect class="{{ colour(bar.path) }}" x="{{ "%.4f"|format(bar.x + 0.06 * bar.width) }}" y="{{ "%.4f"|format(bar.y) }}"
 width="{{ "%.4f"|format(0.88 * bar.width) }}" height="{{ "%.4f"|format(bar.height) }}">
{{- "" }}<title>{{ bar.label }}</title></rect>
{% endfor %}
</svg></div>
{% endfor %}
<div class="histogram"><div class="ticks" aria-hidden="true">
{% for tick in histogram_ticks %}
<span style="left:{{ "%.2f"|format(100 * tick.at) }}%">{{ tick.label }}</span>
{% endfor %}
</div></div>
<figcaption>Measured latency per answer on a log scale; each system's bars are scaled to its own tallest.</figcaption>
</figure>
{% else %}
<p class="note">No latency was measured in this run: all answers were replayed.</p>
{% endif %}
<h3>Answers by path</h3>
{{ grid(path_grid) }}
<h3>Abstention</h3>
{{ grid(abstention) }}
</section>

<section id="kinds"><h2>By kind of question</h2>{{ grid(kinds, "Kind") }}</section>
{% if summary.devices %}
<section id="devices"><h2>By device</h2>{{ grid(devices, "Device") }}</section>
{% endif %}

<section id="costs">
<h2>Cost</h2>
{{ grid(cost) }}
</section>
{% if builds %}
<section><h2>Building the memories</h2>{{ grid(builds, "Device") }}</section>
{% endif %}
<section>
<h2>Traffic by phase</h2>
{{ legend(["up", "down"]) }}
{% for name, totals, stacks in traffic %}
<h3>{{ name }} <span class="after">{{ totals }}</span></h3>
{% for stack in stacks %}
<div class="stack"><span class="who phase">{{ stack.name }}</span>
<div><div class="bar thin" role="img" aria-label="{{ stack.text }}" 
 style="width:{{ "%.2f"|format(100 * stack.width) }}%">
{% for part in stack.segments %}
<span class="{{ part.kind }}" style="width:{{ "%.2f"|format(100 * part.share) }}%"></span>
{% endfor %}
</div><span class="after">{{ stack.text }}</span></div></div>
{% endfor %}
{% endfor %}
</section>

<section id="answers">
<h2>Answers</h2>
{% if shown < asked %}
<p class="note">The first {{ shown }} of {{ asked }} questions; all are in answers.jsonl.</p>
{% endif %}
<noscript><p class="note warn">The list of answers needs JavaScript; the same rows are in answers.jsonl.</p></noscript>
<div class="filters" role="search">
<label class="wide">Search
<input id="search" type="search" placeholder="question, gold or answer" autocomplete="off"></label>
<label>Outcome<select id="by-outcome"><option value="">any</option><option value="differ">systems differ</option>
<option value="all">all right</option><option value="none">none right</option></select></label>
<label>Path<select id="by-path"><option value="">any</option></select></label>
<label>Kind<select id="by-kind"><option value="">any</option></select></label>
<label>Device<select id="by-device"><option value="">any</option></select></label>
</div>
<p id="count" class="soft" role="status" aria-live="polite"></p>
<div class="scroll" tabindex="0" role="region" aria-label="List of answers">
<table id="list">
<thead><tr><th scope="col">Question</th><th scope="col">Gold</th><th scope="col" class="extra">Kind</th>
<th scope="col" class="extra">Device</th>
{% for name in systems %}<th scope="col" class="verdict">{{ name }}</th>{% endfor %}
</tr></thead>
<tbody></tbody>
</table></div>
<button id="more" class="more" type="button" hidden>Show more</button>
</section>

<section id="manifest">
<h2>Manifest</h2>
<div class="manifest">
{{ facts_table("Models", summary.manifest.models) }}
{{ facts_table("Versions", summary.manifest.versions) }}
{{ facts_table("Machine", summary.manifest.machine) }}
{% if summary.manifest.fitted %}{{ facts_table("Fitted on", summary.manifest.fitted) }}{% endif %}
</div>
{% if summary.manifest.settings %}
<details><summary>Settings</summary>{{ facts_table("Settings", summary.manifest.settings) }}</details>
{% endif %}
</section>
</main>
<footer>EM and F1 follow HotpotQA's official script; ACC asks whether the normalised gold answer is contained. Metrics
are computed for each device and averaged over devices; percentiles are over all answers. Kinds and paths count
questions alike. ★ marks the best value.</footer>
<script type="application/octet-stream" id="data">{{ embedded }}</script>
<script>{{ script }}</script>
</body>
</html>
"""

PARTS = {"macros": _MACROS, "page": _PAGE}
