"""The style of the bench page; the page's policy allows only this text, by its hash."""

from __future__ import annotations

STYLE = """
:root{color-scheme:light dark;--ground:#fff;--panel:#f6f7f9;--ink:#1b1f24;--dim:#57606a;--rule:#d5dae0;--band:#eef1f4;
--good:#0a6b3d;--bad:#b42318;--mild:#7a5200;
--v0:#69717d;--v1:#0068a8;--v2:#b04a00;--v3:#00745a;--v4:#94388a;--v5:#7d6200;--v6:#b8302a;--v7:#4450b5}
@media (prefers-color-scheme:dark){:root{--ground:#14171b;--panel:#1c2127;--ink:#e7eaee;--dim:#a4adb8;--rule:#39414b;
--band:#20262d;--good:#5dd39e;--bad:#ff9187;--mild:#f0c674;
--v0:#a3acb8;--v1:#5ab4ee;--v2:#f2a15c;--v3:#45cba6;--v4:#da95cf;--v5:#dcc04a;--v6:#f28b80;--v7:#9ca7f7}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);
font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{max-width:1120px;margin:0 auto;padding:24px 16px 48px}
h1{font-size:1.5rem;line-height:1.25;margin:0 0 4px;overflow-wrap:anywhere}
h2{font-size:1.125rem;margin:40px 0 8px}
h3{font-size:1rem;margin:24px 0 4px}
p{margin:8px 0;max-width:75ch}
code{font:0.875em/1.4 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;overflow-wrap:anywhere}
.dim,figcaption{color:var(--dim);font-size:0.875rem}
.headline{font-size:1.25rem;line-height:1.35;margin:16px 0 4px;font-weight:600}
.faster{color:var(--good)}.slower{color:var(--bad)}.none{color:var(--mild)}
figure{margin:0;min-width:0}
figcaption{margin:0 0 8px;max-width:75ch}
svg{display:block;width:100%;height:auto;overflow:visible}
svg.wide{display:none}svg.narrow{max-width:480px}
.pair{display:grid;gap:0 40px;grid-template-columns:minmax(0,1fr)}
.pair svg.wide{max-width:600px}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:4px 20px;margin:4px 0 8px;padding:0;font-size:0.875rem}
.legend li{overflow-wrap:anywhere;display:flex;align-items:baseline;gap:8px}
.swatch{flex:none;width:12px;height:12px;background:var(--c);border-radius:2px}
.c0{--c:var(--v0)}.c1{--c:var(--v1)}.c2{--c:var(--v2)}.c3{--c:var(--v3)}
.c4{--c:var(--v4)}.c5{--c:var(--v5)}.c6{--c:var(--v6)}.c7{--c:var(--v7)}
.label{font-size:12px;fill:var(--ink);paint-order:stroke;stroke:var(--ground);stroke-width:4px;stroke-linejoin:round}.label.dim{fill:var(--dim)}
.grid{stroke:var(--rule);stroke-width:1}.axis{stroke:var(--dim);stroke-width:1}
.one{stroke:var(--ink);stroke-width:1.5;stroke-dasharray:3 2}
.band{fill:var(--band)}.band.even{fill:none}
.trace{fill:none;stroke:var(--c);stroke-width:1;opacity:.75}.dot{fill:var(--c);opacity:.7}.beyond{fill:var(--c)}
.median{stroke:var(--ink);stroke-width:2}.whisker{stroke:var(--c);stroke-width:2}
.bar{fill:var(--c)}.rest{fill:var(--c);opacity:.25}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums;font-size:0.9375rem}
th,td{padding:8px 12px 8px 0;border-bottom:1px solid var(--rule);text-align:left;vertical-align:top}
th{font-weight:600}thead th{color:var(--dim);font-size:0.8125rem;white-space:nowrap}
td.n{white-space:nowrap}
td small{display:block;color:var(--dim)}
th code{font-weight:600}
th ul{margin:4px 0 0;padding-left:18px;font-weight:400;font-size:0.8125rem;color:var(--dim)}
dl{display:grid;grid-template-columns:minmax(0,1fr);margin:8px 0;gap:0 24px}
dt{color:var(--dim);font-size:0.875rem}dd{margin:0 0 8px;overflow-wrap:anywhere}
details{margin-top:40px}summary{cursor:pointer;font-weight:600}
.scroll{overflow:auto;max-height:60vh;margin-top:8px}.scroll table{font-size:0.8125rem}
.scroll th,.scroll td{padding:2px 12px 2px 0;white-space:nowrap}
:focus-visible{outline:2px solid var(--v1);outline-offset:2px}
@media (min-width:720px){svg.wide{display:block}svg.narrow{display:none}
dl{grid-template-columns:max-content minmax(0,1fr)}}
@media (min-width:900px){.pair{grid-template-columns:repeat(2,minmax(0,1fr))}}
@media (max-width:899px){
.results,.results tbody,.results tr,.results th,.results td{display:block}.results thead{display:none}
.results tr{max-width:480px;border-bottom:1px solid var(--rule);padding:12px 0}
.results th,.results td{border:0;padding:2px 0}
.results td{display:flex;justify-content:space-between;gap:16px;text-align:right}
.results td::before{content:attr(data-label);color:var(--dim);text-align:left}
.results td:empty{display:none}}
@media print{details{display:none}}
"""
