"""The report's markup as a Jinja template, rendered with autoescape on, with its style and its script."""

STYLE = """
:root { --ink: #16202e; --soft: #55627a; --line: #dde2ea; --tint: #f4f6f9; --good: #0e7c74; --bad: #b3261e; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1180px; padding: 1rem; color: var(--ink); background: #fff;
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; border-top: 1px solid var(--line);
  padding-top: 1rem; }
a { color: var(--good); } .soft, figcaption, footer { color: var(--soft); } .warn { color: var(--bad); }
.scroll { overflow-x: auto; margin: .75rem 0; } table { border-collapse: collapse; min-width: 50%; }
caption { text-align: left; color: var(--soft); padding: .2rem 0; }
th, td { padding: .3rem .6rem; border-bottom: 1px solid var(--line); text-align: right; overflow-wrap: anywhere; }
th:first-child, .words th, .words td { text-align: left; } thead th { background: var(--tint); }
figure { margin: .75rem 0; } figure svg { max-width: 100%; height: auto; }
.question { border-bottom: 1px solid var(--line); padding: .3rem 0; } summary { cursor: pointer; }
.right { color: var(--good); } .wrong { color: var(--bad); } .none { color: var(--soft); }
.answer { margin: .5rem 0 .5rem 1.2rem; padding: .4rem .7rem; background: var(--tint); overflow-wrap: anywhere; }
pre { white-space: pre-wrap; font-size: .85rem; } label { margin-right: 1rem; }
@media (max-width: 640px) { body { font-size: 14px; padding: .5rem; } }
@media print { .filters { display: none; } }
"""

SCRIPT = """
"use strict";
const search = document.getElementById("search"), outcome = document.getElementById("outcome");
const questions = [...document.querySelectorAll(".question")], count = document.getElementById("count");
function filter() {
  const words = search.value.toLowerCase();
  let shown = 0;
  for (const one of questions) {
    one.hidden = !one.textContent.toLowerCase().includes(words)
      || (outcome.value !== "" && one.dataset.outcome !== outcome.value);
    shown += one.hidden ? 0 : 1;
  }
  count.textContent = shown + " of " + questions.length + " questions";
}
search.addEventListener("input", filter);
outcome.addEventListener("change", filter);
filter();
"""

PAGE = r"""{% macro facts(title, told) %}{% if told %}
<div class="scroll"><table class="words"><caption>{{ title }}</caption>
{% for key, value in told.items() %}<tr><th scope="row">{{ key }}</th><td>{{ value }}</td></tr>
{% endfor %}
</table></div>
{% endif %}{% endmacro %}
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
<header>
<h1>Federated RAG evaluation{{ ": " ~ title if title }}</h1>
<p class="soft">{{ systems|length }} systems, {{ asked }} questions
{%- if summary.devices %}, {{ summary.devices|length }} devices{% endif %}, seed {{ summary.manifest.seed }}
{%- if summary.manifest.started %}, started {{ summary.manifest.started|replace("T", " ") }}{% endif %}
{%- if summary.manifest.seconds %}, took {{ took }}{% endif %}</p>
<nav aria-label="Sections"><a href="#systems">Systems</a> <a href="#paths">Paths</a> <a href="#groups">Kinds and
devices</a> <a href="#costs">Cost</a> <a href="#answers">Answers</a> <a href="#manifest">Manifest</a></nav>
</header>
<main>
<h2 id="systems">Systems side by side</h2>
{{ quality }}
{{ intervals }}
{% if bounds %}<p>{{ bounds|join(", ") }}: answers chosen by the gold, an upper bound that no system reaches.
It is best of nothing.</p>{% endif %}
{% if replayed %}<p>Answers replayed from the generation cache are left out of all latencies:
{% for name, share in replayed.items() %}{{ name }} {{ share }}%{{ ", " if not loop.last }}{% endfor %}.</p>{% endif %}
{% for name, devices in lost.items() %}
<p class="warn">{{ name }} went on without
{% for device, reason in devices.items() %}{{ device }} ({{ reason }}){{ ", " if not loop.last }}{% endfor %}.
Questions without a reply count as wrong.</p>
{% endfor %}
<figure>{{ plane }}<figcaption>Up and to the left is better; bars are 95% intervals.
Circles on the dashed line are not beaten in both.
{% if unmeasured %}Without a measured latency: {{ unmeasured|join(", ") }}.{% endif %}</figcaption></figure>
<h2 id="paths">How questions were answered</h2>
<figure>{{ shares }}</figure>
{% if not plane %}
<p>No latency was measured in this run: all answers were replayed.</p>{% endif %}
{{ by_path }}
{{ declined }}
<h2 id="groups">By kind of question and by device</h2>
{{ kinds }}
{% if summary.devices %}{{ by_device }}{% endif %}
<h2 id="costs">Cost</h2>
{{ costs }}
{% if summary.devices %}{{ builds }}{% endif %}
{{ traffic }}
<h2 id="answers">Answers</h2>
{% if questions|length < asked %}
<p>The first {{ questions|length }} of {{ asked }} questions; all are in answers.jsonl.</p>
{% endif %}
<p class="filters"><label>Search <input id="search" type="search" autocomplete="off"></label>
<label>Outcome <select id="outcome"><option value="">any</option><option value="differ">systems differ</option>
<option value="all">all right</option><option value="none">none right</option></select></label>
<span id="count" class="soft" role="status"></span></p>
{% for one in questions %}
<details class="question" data-outcome="{{ one.outcome }}">
<summary>{{ one.first.question }} <span class="soft">({{ one.first.kind }}, {{ one.first.home }})</span>
{% for row in one.rows %}<span class="{{ verdict(row) }}" title="{{ row.system }}">{{ mark(row) }}</span>
{% endfor %}</summary>
<p>Gold: {{ one.first.gold or "no document answers it" }}
{%- if one.first.aliases %} (or {{ one.first.aliases|join(", ") }}){% endif %}</p>
{% for row in one.rows %}
<div class="answer"><b>{{ row.system }}</b> <span class="{{ verdict(row) }}">{{ verdict(row) }}</span>
<span class="soft">{{ row.path }}{% if row.answer is not none %}, {{ seconds(row.cost.seconds) }}
{%- if row.cost.replayed %} (replayed){% endif %}{% endif %}{% if row.score is not none %}, confidence
{{ "%.2f"|format(row.score) }}{% endif %}, {{ row.cost.llm_calls }} calls</span>
{% if row.answer %}<p>{{ row.answer }}</p>{% endif %}
{% if row.told %}<p>{{ row.told }}</p>{% endif %}
{% if row.explanation %}<p class="soft">{{ row.explanation }}</p>{% endif %}
{% if row.sources %}<p class="soft">Sources: {{ row.sources|join(", ") }}</p>{% endif %}
{% if row.evidence %}<details><summary>What was read</summary><ul>
{% for text in row.evidence %}<li>{% for part in marked(text, row.answer or "") %}
{%- if loop.index is even %}<mark>{{ part }}</mark>{% else %}{{ part }}{% endif %}{% endfor %}</li>{% endfor %}
</ul></details>{% endif %}
{% for path in row.answer_paths %}<details class="paths"><summary>Path to {{ path.passage_id }}</summary>
<pre>{{ path_text(path) }}</pre></details>{% endfor %}
</div>
{% endfor %}
</details>
{% endfor %}
<h2 id="manifest">Manifest</h2>
{{ facts("Models", summary.manifest.models) }}
{{ facts("Versions", summary.manifest.versions) }}
{{ facts("Machine", summary.manifest.machine) }}
{{ facts("Fitted on", summary.manifest.fitted) }}
<details><summary>Settings</summary>{{ facts("Settings", summary.manifest.settings) }}</details>
</main>
<footer><p>EM and F1 follow HotpotQA's official script; ACC asks whether the normalised gold answer is contained.
Metrics are computed for each device and averaged over devices; percentiles are over all answers. Kinds and paths count
questions alike. * marks the best of its column.</p></footer>
<script>{{ script }}</script>
</body>
</html>
"""
