<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<!-- SPDX-License-Identifier: Apache-2.0 -->
<TS version="2.1" language="en" sourcelanguage="en">
<context>
    <name>view</name>
    <message>
        <location filename="../view/accessible.cpp"/>
        <source>{} events, {} busy in view</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/accessible.cpp"/>
        <source>nothing in view</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/accessible.cpp"/>
        <source>mostly {}, {} of the time in view</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/accessible.cpp"/>
        <location filename="../view/pages/collectives_page.cpp"/>
        <location filename="../view/timeline/overlay.cpp"/>
        <source>rank {}, {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/accessible.cpp"/>
        <source>nothing known in view</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/flame_dock.cpp"/>
        <source>No range was recorded here: choose a longer time, or record at detail standard.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/flame_dock.cpp"/>
        <source>Choose a name (an event, a node, or a search) to see its callers above it and what it called below.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/flame_dock.cpp"/>
        <source>No range named {} was recorded here.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/flame_dock.cpp"/>
        <source> · counting …</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/flame_dock.cpp"/>
        <source> · {} of thread time in {} events</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/histogram_dock.cpp"/>
        <location filename="../view/docks/info_dock.cpp"/>
        <location filename="../view/docks/table_dock.cpp"/>
        <source>rank</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/histogram_dock.cpp"/>
        <location filename="../view/docks/info_dock.cpp"/>
        <location filename="../view/panels.cpp"/>
        <source>events</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/histogram_dock.cpp"/>
        <location filename="../view/docks/path_dock.cpp"/>
        <location filename="../view/pages/overview_page.cpp"/>
        <source>median</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/histogram_dock.cpp"/>
        <source>95 %</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/histogram_dock.cpp"/>
        <source>longest</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/histogram_dock.cpp"/>
        <location filename="../view/pages/collectives_page.cpp"/>
        <source>in all</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/histogram_dock.cpp"/>
        <source>Choose an event or a node of the flame graph, or search for a name, to see its durations on all ranks.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/histogram_dock.cpp"/>
        <source>: counting …</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/histogram_dock.cpp"/>
        <source>{}: no event in this range{}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/histogram_dock.cpp"/>
        <source>{} · {} events on {} ranks · median {} · 95 % below {} · longest {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/histogram_dock.cpp"/>
        <source> · chosen {} to {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/histogram_dock.cpp"/>
        <source> · {} unfinished left out</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/histogram_dock.cpp"/>
        <source>{} in the highest bar</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/histogram_dock.cpp"/>
        <source>all</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/histogram_dock.cpp"/>
        <source>… and {} ranks with shorter medians</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/info_dock.cpp"/>
        <location filename="../view/model/rank_groups.cpp"/>
        <location filename="../view/pages/compare_page.cpp"/>
        <source>host</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/info_dock.cpp"/>
        <source>detail</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/info_dock.cpp"/>
        <source>recording</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/info_dock.cpp"/>
        <source>program</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/info_dock.cpp"/>
        <source>steps</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/info_dock.cpp"/>
        <source>events shown</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/info_dock.cpp"/>
        <source>lost</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/info_dock.cpp"/>
        <source>ahead by</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/info_dock.cpp"/>
        <source>drift</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/info_dock.cpp"/>
        <source>bound</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/info_dock.cpp"/>
        <source>probes</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/info_dock.cpp"/>
        <source>known by</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/info_dock.cpp"/>
        <source>not ended</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/info_dock.cpp"/>
        <source>note</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/info_dock.cpp"/>
        <source>run</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/info_dock.cpp"/>
        <source>command</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/info_dock.cpp"/>
        <source>recorded in</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/info_dock.cpp"/>
        <source>{} on {} host</source>
        <extracomment>for 1; else: {} on {} hosts</extracomment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/info_dock.cpp"/>
        <source>{} on {} hosts</source>
        <extracomment>for all but 1, which is: {} on {} host</extracomment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/info_dock.cpp"/>
        <source>, of a world of {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/info_dock.cpp"/>
        <location filename="../view/figures/what_if_controls.cpp"/>
        <location filename="../view/pages/collectives_page.cpp"/>
        <source>ranks</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/info_dock.cpp"/>
        <source>{}, of which {} steady ({} to {})</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/info_dock.cpp"/>
        <source>recording cost</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/info_dock.cpp"/>
        <source>in memory</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/info_dock.cpp"/>
        <source>not chosen</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/info_dock.cpp"/>
        <source>unknown</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/path_dock.cpp"/>
        <source>This step has no critical path: only steady steps are replayed.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/path_dock.cpp"/>
        <source>The run has no critical path: {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/path_dock.cpp"/>
        <source>The run has no critical path: it could not be replayed. The diagnostics say why.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/path_dock.cpp"/>
        <source>Step {}: {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/path_dock.cpp"/>
        <source>as long as the median step</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/path_dock.cpp"/>
        <source>{} longer than the median step ({})</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/path_dock.cpp"/>
        <source>{} shorter than the median step ({})</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/path_dock.cpp"/>
        <source>rank {} ends it</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/path_dock.cpp"/>
        <source>{} hand-over between ranks</source>
        <extracomment>for 1; else: {} hand-overs between ranks</extracomment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/path_dock.cpp"/>
        <source>{} hand-overs between ranks</source>
        <extracomment>for all but 1, which is: {} hand-over between ranks</extracomment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/path_dock.cpp"/>
        <source>The replay of this run was rejected; treat this as a hint.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/path_dock.cpp"/>
        <source>By category</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/path_dock.cpp"/>
        <source>By rank</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/path_dock.cpp"/>
        <source>By name</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/path_dock.cpp"/>
        <source>here</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/path_dock.cpp"/>
        <source>differs</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/path_dock.cpp"/>
        <source>and {} more that differ less</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/path_dock.cpp"/>
        <source>Hand-overs</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/path_dock.cpp"/>
        <source>rank {} → rank {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/path_dock.cpp"/>
        <source>and {} more</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/range_title.cpp"/>
        <source> · step {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/range_title.cpp"/>
        <source> · visible range</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/range_title.cpp"/>
        <source> · {} rank</source>
        <extracomment>for 1; else:  · {} ranks</extracomment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/range_title.cpp"/>
        <source> · {} ranks</source>
        <extracomment>for all but 1, which is:  · {} rank</extracomment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/selection_table.cpp"/>
        <location filename="../view/pages/overview_page.cpp"/>
        <source>selected</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/selection_table.cpp"/>
        <location filename="../view/docks/sql_dock.cpp"/>
        <location filename="../view/figures/what_if_controls.cpp"/>
        <location filename="../view/model/layout.cpp"/>
        <location filename="../view/model/run_path.cpp"/>
        <location filename="../view/pages/collectives_page.cpp"/>
        <location filename="../view/pages/matrix_page.cpp"/>
        <location filename="../view/pages/memory_page.cpp"/>
        <location filename="../view/pages/overview_page.cpp"/>
        <location filename="../view/pages/topology_page.cpp"/>
        <location filename="../view/panels.cpp"/>
        <location filename="../view/timeline/notable_strip.cpp"/>
        <source>rank {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/selection_table.cpp"/>
        <location filename="../view/pages/heatmap_page.cpp"/>
        <source>mean</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/selection_table.cpp"/>
        <source>of all {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/selection_table.cpp"/>
        <source>wall</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/selection_table.cpp"/>
        <location filename="../view/pages/overview_page.cpp"/>
        <source>No training step was found, so time cannot be split by category; the diagnostics say why.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/selection_table.cpp"/>
        <source>No rank has this step.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/sql_dock.cpp"/>
        <location filename="../view/model/layout.cpp"/>
        <location filename="../view/panels.cpp"/>
        <source>{} ranks</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/sql_dock.cpp"/>
        <source>ranks {}</source>
        <extracomment>for all but 1, which is: rank {}</extracomment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/sql_dock.cpp"/>
        <source> · without {}: {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/sql_dock.cpp"/>
        <source> · and without {} more</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/sql_dock.cpp"/>
        <source>first {} of more rows</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/sql_dock.cpp"/>
        <source>{} row</source>
        <extracomment>for 1; else: {} rows</extracomment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/sql_dock.cpp"/>
        <source>{} rows</source>
        <extracomment>for all but 1, which is: {} row</extracomment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/sql_dock.cpp"/>
        <source> of {} rank</source>
        <extracomment>for 1; else:  of {} ranks</extracomment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/sql_dock.cpp"/>
        <source> of {} ranks</source>
        <extracomment>for all but 1, which is:  of {} rank</extracomment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/sql_dock.cpp"/>
        <source> · of the statement before</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/sql_dock.cpp"/>
        <source> · from before the run was read again</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/sql_dock.cpp"/>
        <location filename="../view/pages/topology_page.cpp"/>
        <source>all ranks</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/sql_dock.cpp"/>
        <source>only {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/sql_dock.cpp"/>
        <source>remove the track</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/sql_dock.cpp"/>
        <source>make a track</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/sql_dock.cpp"/>
        <source>asking… Esc ends it</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/sql_dock.cpp"/>
        <source>One statement, run on each rank's trace: {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/table_dock.cpp"/>
        <source>name</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/table_dock.cpp"/>
        <location filename="../view/pages/collectives_page.cpp"/>
        <source>begins</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/table_dock.cpp"/>
        <source>duration</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/table_dock.cpp"/>
        <source>thread</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/table_dock.cpp"/>
        <source>part of</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/table_dock.cpp"/>
        <location filename="../view/timeline/overlay.cpp"/>
        <source>unfinished</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/table_dock.cpp"/>
        <source>counting …</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/table_dock.cpp"/>
        <location filename="../view/panels.cpp"/>
        <source>{} event</source>
        <extracomment>for 1; else: {} events</extracomment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/table_dock.cpp"/>
        <location filename="../view/panels.cpp"/>
        <source>{} events</source>
        <extracomment>for all but 1, which is: {} event</extracomment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/table_dock.cpp"/>
        <source> named {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/table_dock.cpp"/>
        <source> of {} to {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/docks/table_dock.cpp"/>
        <source>, first {} shown; choose a shorter range to see all</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/collective_groups.cpp"/>
        <source>groups of {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/collective_lines.h"/>
        <location filename="../view/figures/event_list.h"/>
        <source>by time</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/collective_lines.h"/>
        <source>longest wait first</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/collective_lines.h"/>
        <source>longest transfer first</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/collective_lines.h"/>
        <source>largest first</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/event_list.h"/>
        <source>longest first</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/event_list.h"/>
        <source>by name</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/event_list.h"/>
        <location filename="../view/figures/step_matrix.h"/>
        <source>by rank</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/flame.h"/>
        <source>top-down</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/flame.h"/>
        <source>in time order</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/flame.h"/>
        <source>bottom-up</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/flame.h"/>
        <source>sandwich</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/grid_waits.h"/>
        <location filename="../view/figures/step_matrix.h"/>
        <source>Waiting</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/grid_waits.h"/>
        <source>what a rank waits for others, per steady step</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/grid_waits.h"/>
        <source>Waited for</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/grid_waits.h"/>
        <source>what others waited for a rank as the last to come, per steady step</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/grid_waits.h"/>
        <location filename="../view/figures/step_matrix.h"/>
        <source>Own delay</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/grid_waits.h"/>
        <source>own work beyond the median of a rank's peers, per steady step</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/notable_ranks.cpp"/>
        <source>culprit</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/notable_ranks.cpp"/>
        <source>waits most</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/notable_ranks.cpp"/>
        <location filename="../view/pages/collectives_page.cpp"/>
        <source>waited for most</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/notable_ranks.cpp"/>
        <source>slowest</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/notable_ranks.cpp"/>
        <source>fastest</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/notable_ranks.cpp"/>
        <source>typical</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/notable_ranks.cpp"/>
        <location filename="../view/model/layout.cpp"/>
        <source>waits {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/notable_ranks.cpp"/>
        <source>{} waited</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/notable_ranks.cpp"/>
        <source>costs {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/pair_map.h"/>
        <source>Waits</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/pair_map.h"/>
        <source>how long a rank (row) waited for another (column)</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/pair_map.h"/>
        <source>waited for</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/pair_map.h"/>
        <source>Bytes</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/pair_map.h"/>
        <source>sent in messages from a rank (row) to another (column)</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/pair_map.h"/>
        <source>sent to</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/pair_map.h"/>
        <source>Transfer time</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/pair_map.h"/>
        <source>of messages, from the moment both sides had arrived</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/pair_map.h"/>
        <source>Bandwidth</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/pair_map.h"/>
        <source>of messages, while they were transferred</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/pair_map.h"/>
        <source>Messages</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/pair_map.h"/>
        <source>from a rank (row) to another (column)</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/rank_spread.cpp"/>
        <location filename="../view/pages/collectives_page.cpp"/>
        <location filename="../view/panels.cpp"/>
        <source>step</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/rank_spread.cpp"/>
        <source>own delay</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/step_matrix.h"/>
        <source>Step time</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/step_matrix.h"/>
        <source>from the start of a rank's step to its end</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/step_matrix.h"/>
        <source>own work beyond the median of its peers, in steady steps</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/step_matrix.h"/>
        <source>exposed communication before the last peer arrived</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/step_matrix.h"/>
        <source>Exposed communication</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/step_matrix.h"/>
        <source>waiting and transfer that overlap no computation</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/step_matrix.h"/>
        <source>Input wait</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/step_matrix.h"/>
        <source>waiting for the next batch</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/step_matrix.h"/>
        <source>highest first</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/step_matrix.h"/>
        <source>most expensive first</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/what_if_controls.cpp"/>
        <source>stragglers</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/what_if_controls.cpp"/>
        <source>none</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/what_if_controls.cpp"/>
        <source>wait for data</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/what_if_controls.cpp"/>
        <source>host work</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/what_if_controls.cpp"/>
        <source>checkpoints</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/what_if_controls.cpp"/>
        <source>garbage collection</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/what_if_controls.cpp"/>
        <location filename="../view/pages/matrix_page.cpp"/>
        <source>together</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/what_if_controls.cpp"/>
        <source>transfers</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/what_if_controls.cpp"/>
        <source>latency</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/what_if_controls.cpp"/>
        <source>overlap</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/what_if_controls.cpp"/>
        <source>full</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/what_if_controls.cpp"/>
        <source>synchronisation</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/what_if_controls.cpp"/>
        <source>launches</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/what_if_controls.cpp"/>
        <source>as graphs</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/what_if_controls.cpp"/>
        <source>kernels</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/what_if_controls.cpp"/>
        <source>operators</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/what_if_controls.cpp"/>
        <source>passes per update</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/what_if_controls.cpp"/>
        <source>as recorded</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/what_if_controls.cpp"/>
        <source>as its peers</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/what_if_controls.cpp"/>
        <source>nothing</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/what_if_controls.cpp"/>
        <source>bandwidth</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/figures/what_if_controls.cpp"/>
        <source>bucket cap</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/event_loading.cpp"/>
        <source> · without {} whose events are not loaded</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/layout.cpp"/>
        <source>{} hidden</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/layout.cpp"/>
        <source>rank {} {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/layout.cpp"/>
        <source>pinned</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/layout.cpp"/>
        <source>unknown host</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/layout.cpp"/>
        <location filename="../view/panels.cpp"/>
        <source>{} rank</source>
        <extracomment>for 1; else: {} ranks</extracomment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/layout.cpp"/>
        <source>events not loaded</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/layout.cpp"/>
        <location filename="../view/pages/overview_page.cpp"/>
        <source>own +{}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/layout.cpp"/>
        <source>{} of {} stay in view</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/memory_track.cpp"/>
        <source>memory of device {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/memory_track.cpp"/>
        <source>resident memory</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/memory_track.cpp"/>
        <source>memory of the host</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/memory_track.cpp"/>
        <source>{} to {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/memory_track.cpp"/>
        <source>{} resident</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/memory_track.cpp"/>
        <source>{} allocated</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/memory_track.cpp"/>
        <source>{} allocated, {} reserved</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/model.cpp"/>
        <source>reading the traces</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/model.cpp"/>
        <source>matching the ranks' collectives and clocks</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/model.cpp"/>
        <source>dividing the steps by what the time went to</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/model.cpp"/>
        <source>replaying the steps</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/model.cpp"/>
        <source>comparing the ranks</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/model.cpp"/>
        <source>summing up</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/model.cpp"/>
        <location filename="../widgets/main_window.cpp"/>
        <location filename="../widgets/opening_pane.cpp"/>
        <source>opening</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/model.cpp"/>
        <source>putting together what is shown</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/model.cpp"/>
        <source>loading rank {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/model.cpp"/>
        <source>{}: {} ranks on {} host, {}</source>
        <extracomment>for 1; else: {}: {} ranks on {} hosts, {}</extracomment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/model.cpp"/>
        <source>{}: {} ranks on {} hosts, {}</source>
        <extracomment>for all but 1, which is: {}: {} ranks on {} host, {}</extracomment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/model.cpp"/>
        <source>no trace of rank {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/rank_groups.cpp"/>
        <source>stage</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/rank_groups.cpp"/>
        <source>pipeline</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/rank_groups.cpp"/>
        <source>tensor</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/rank_groups.cpp"/>
        <source>tensor group</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/rank_groups.cpp"/>
        <source>context</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/rank_groups.cpp"/>
        <source>context group</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/rank_groups.cpp"/>
        <source>data</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/rank_groups.cpp"/>
        <source>data group</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/rank_groups.cpp"/>
        <source>expert</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/rank_groups.cpp"/>
        <source>expert group</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/rank_groups.cpp"/>
        <source>group</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/rank_groups.cpp"/>
        <location filename="../view/pages/compare_page.cpp"/>
        <source>device</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/rank_groups.cpp"/>
        <source>stage {} of {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/rank_groups.cpp"/>
        <source>rack</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/result_track.cpp"/>
        <source>first {} rows</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/result_track.cpp"/>
        <source>{} without a time</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/run_path.cpp"/>
        <source>a transfer</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/run_path.cpp"/>
        <source>not explained</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/run_path.cpp"/>
        <source>own work</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/saved_view.cpp"/>
        <source>without it the run opens afresh</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/saved_view.cpp"/>
        <source>it is no JSON object</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/saved_view.cpp"/>
        <source>it was written by another dprof: {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/saved_view.cpp"/>
        <source>it holds no saved view</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/saved_view.cpp"/>
        <source>{}: there is no such file</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/saved_view.cpp"/>
        <location filename="../widgets/picture.cpp"/>
        <source>{} cannot be written</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/selection.cpp"/>
        <source>selectors are rank:N, rank:N/stream:M, rank:N/thread:NAME, step:N, steps:N..N, finding:N, row:RANK/TABLE/ID, range:T..T (with ns, us, ms or s), collective:COMMUNICATOR/FUNCTION/SEQUENCE, name:PATTERN, duration:T..T</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/selection.cpp"/>
        <source>'{}' is no selector</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/selection.cpp"/>
        <source>rank {} has no row {} in table {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/selection.cpp"/>
        <source>the timeline shows rows of host_range, collective and gpu_activity</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/selection.cpp"/>
        <source>the run has no rank {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/selection.cpp"/>
        <source>its tracks: {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/selection.cpp"/>
        <source>its events are not loaded</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/selection.cpp"/>
        <source>the run has no track {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/selection.cpp"/>
        <source>the run has no steps {} to {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/selection.cpp"/>
        <source>the run has no collective {}/{}/{}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/selection.cpp"/>
        <source>`dprof report --format json` lists communicators and functions</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/selection.cpp"/>
        <source>the run has no step {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/selection.cpp"/>
        <source>the report has no finding {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/selection.cpp"/>
        <source>there are none</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/selection.cpp"/>
        <source>it has 1 to {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/selection.cpp"/>
        <source>no event is named {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/selection.cpp"/>
        <source>* matches any characters: name:*all_reduce*</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/model/sql_console.cpp"/>
        <source>blob, {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/collectives_page.cpp"/>
        <location filename="../view/panels.cpp"/>
        <source>collective</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/collectives_page.cpp"/>
        <location filename="../view/panels.cpp"/>
        <source>communicator</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/collectives_page.cpp"/>
        <location filename="../view/pages/memory_page.cpp"/>
        <source>bytes</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/collectives_page.cpp"/>
        <source>arrivals over</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/collectives_page.cpp"/>
        <source>last to come</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/collectives_page.cpp"/>
        <location filename="../view/pages/topology_page.cpp"/>
        <source>longest wait</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/collectives_page.cpp"/>
        <source>transfer</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/collectives_page.cpp"/>
        <location filename="../view/pages/topology_page.cpp"/>
        <source>number</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/collectives_page.cpp"/>
        <source>most often last</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/collectives_page.cpp"/>
        <source>No collective was recorded; the diagnostics say which source was off.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/collectives_page.cpp"/>
        <source>, {} never completed</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/collectives_page.cpp"/>
        <source>rank {}, {} of {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/collectives_page.cpp"/>
        <source>never completed</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/collectives_page.cpp"/>
        <source>by kind</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/collectives_page.cpp"/>
        <source>{} kinds, most expensive first; times are medians, the total is the sum of longest waits and transfers</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/collectives_page.cpp"/>
        <source>{} collectives</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/compare_page.cpp"/>
        <source>events of a name, per rank and step</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/compare_page.cpp"/>
        <source>on</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/compare_page.cpp"/>
        <source>this run</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/compare_page.cpp"/>
        <source>the other</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/compare_page.cpp"/>
        <source>difference</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/compare_page.cpp"/>
        <source>change</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/compare_page.cpp"/>
        <source>calls</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/compare_page.cpp"/>
        <source>calls there</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/compare_page.cpp"/>
        <source>new</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/compare_page.cpp"/>
        <source>gone</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/compare_page.cpp"/>
        <source>No other run is open to compare with: dprof-gui RUN --compare OTHER</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/compare_page.cpp"/>
        <source>{} beside {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/compare_page.cpp"/>
        <source>Step {} of both, from its begin on</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/compare_page.cpp"/>
        <source>A usual step of each, from its begin on: {} and {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/compare_page.cpp"/>
        <source>rank {} · A</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/compare_page.cpp"/>
        <source>Names cannot be compared: {}.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/compare_page.cpp"/>
        <source>Every name: what is longer in the other run has ▲, what is shorter ▼. A click shows how long its events take, and chooses them in this run.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/compare_page.cpp"/>
        <source>durations of {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/compare_page.cpp"/>
        <source>bars: this run · line: the other</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/heatmap_page.cpp"/>
        <source>No training step was found; the diagnostics say why.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/heatmap_page.cpp"/>
        <source>Ranks were not compared with each other; the diagnostics say why.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/heatmap_page.cpp"/>
        <source>ungrouped</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/heatmap_page.cpp"/>
        <source>by {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/heatmap_page.cpp"/>
        <source>folded</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/heatmap_page.cpp"/>
        <location filename="../view/timeline/timeline_view.cpp"/>
        <source>step {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/heatmap_page.cpp"/>
        <source>{} ({}): rank {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/heatmap_page.cpp"/>
        <location filename="../view/timeline/notable_strip.cpp"/>
        <source>rank {}  {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/heatmap_page.cpp"/>
        <location filename="../view/pages/overview_page.cpp"/>
        <source>rank {}{}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/heatmap_page.cpp"/>
        <source>worst rank</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/heatmap_page.cpp"/>
        <source>mean over ranks</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/heatmap_page.cpp"/>
        <source>rank {} · step {} · {} {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/matrix_page.cpp"/>
        <source>pair</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/matrix_page.cpp"/>
        <location filename="../view/panels.cpp"/>
        <source>in</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/matrix_page.cpp"/>
        <source>who waits for whom</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/matrix_page.cpp"/>
        <source>each</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/matrix_page.cpp"/>
        <source>{} wait</source>
        <extracomment>for 1; else: {} waits</extracomment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/matrix_page.cpp"/>
        <source>{} waits</source>
        <extracomment>for all but 1, which is: {} wait</extracomment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/matrix_page.cpp"/>
        <source>{} message</source>
        <extracomment>for 1; else: {} messages</extracomment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/matrix_page.cpp"/>
        <source>{} messages</source>
        <extracomment>for all but 1, which is: {} message</extracomment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/matrix_page.cpp"/>
        <source>all communicators</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/matrix_page.cpp"/>
        <source>{} collectives are left out: the last rank to arrive is unknown.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/matrix_page.cpp"/>
        <source>What collectives move between two ranks is not recorded, so it is left out.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/matrix_page.cpp"/>
        <source>{} messages are left out: their size, time or peer is unknown.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/matrix_page.cpp"/>
        <source>How well the ranks' clocks agree is unknown: these times may be off.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/matrix_page.cpp"/>
        <source>The ranks' clocks agree to ± {}: each single time may be off by that.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/matrix_page.cpp"/>
        <source>No rank waited for a rank that is known.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/matrix_page.cpp"/>
        <source>No message between ranks was recorded, or none with this figure.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/matrix_page.cpp"/>
        <source>waits ↓ for →</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/matrix_page.cpp"/>
        <source>from ↓ to →</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/matrix_page.cpp"/>
        <source>rank {} ← {} rank</source>
        <extracomment>for 1; else: rank {} ← {} ranks</extracomment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/matrix_page.cpp"/>
        <source>rank {} ← {} ranks</source>
        <extracomment>for all but 1, which is: rank {} ← {} rank</extracomment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/matrix_page.cpp"/>
        <source>{} of the {} ranks that others waited for are listed</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/matrix_page.cpp"/>
        <source>rank {} {} rank {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/matrix_page.cpp"/>
        <source>{} of {} pairs are listed</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/memory_page.cpp"/>
        <source>what lived there</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/memory_page.cpp"/>
        <source>of the peak</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/memory_page.cpp"/>
        <source>blocks</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/memory_page.cpp"/>
        <source>allocated in</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/memory_page.cpp"/>
        <source>by</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/memory_page.cpp"/>
        <source> of {} reserved</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/memory_page.cpp"/>
        <source> · host</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/memory_page.cpp"/>
        <source> · device {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/memory_page.cpp"/>
        <source> of {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/memory_page.cpp"/>
        <source>Besides</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/memory_page.cpp"/>
        <source>No memory data: no allocator was recorded, and resident memory was not sampled. `dprof doctor` says what can be recorded here.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/memory_page.cpp"/>
        <source>{} of {}: most, median and least memory, ranks worth a look, and the selection.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/memory_page.cpp"/>
        <source>What each rank held over the run and at its peak, on one scale up to {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/memory_page.cpp"/>
        <source>What each rank held at its peak, on one scale up to {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/memory_page.cpp"/>
        <source>at its peak</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/memory_page.cpp"/>
        <source>What lived at the peak of rank {}{}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/memory_page.cpp"/>
        <source>an unknown place</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/memory_page.cpp"/>
        <source>all else</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/memory_page.cpp"/>
        <source>Resident memory of each process over the run, on one scale up to {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/memory_page.cpp"/>
        <source>Resident memory of each process, on one scale up to {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/memory_page.cpp"/>
        <source>{} → {}, most {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/overview_page.cpp"/>
        <source>best</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/overview_page.cpp"/>
        <source>p10</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/overview_page.cpp"/>
        <source>p90</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/overview_page.cpp"/>
        <source>worst</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/overview_page.cpp"/>
        <location filename="../view/pages/topology_page.cpp"/>
        <source>which is</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/overview_page.cpp"/>
        <source>{} ranks on {} host</source>
        <extracomment>for 1; else: {} ranks on {} hosts</extracomment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/overview_page.cpp"/>
        <source>{} ranks on {} hosts</source>
        <extracomment>for all but 1, which is: {} ranks on {} host</extracomment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/overview_page.cpp"/>
        <source>, {} steps of {} in the median ({} steady)</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/overview_page.cpp"/>
        <source>{} events, {} lost</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/overview_page.cpp"/>
        <source>Where a step goes: {}, the mean over ranks and steady steps</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/overview_page.cpp"/>
        <source>How {} ranks differ, per steady step; pictures are distances from the median, up to ± {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/overview_page.cpp"/>
        <location filename="../widgets/main_window.cpp"/>
        <source>Ranks worth a look</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/overview_page.cpp"/>
        <source>Rank by rank</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/topology_page.cpp"/>
        <source>communicators</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/topology_page.cpp"/>
        <source>ranks each</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/topology_page.cpp"/>
        <source>median wait</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/topology_page.cpp"/>
        <source>No grid is known: all ranks are in one group on one host, or their groups are of different sizes. Groups are known by the members of their collectives.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/topology_page.cpp"/>
        <source>{} ranks: {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/topology_page.cpp"/>
        <source>{} →</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/topology_page.cpp"/>
        <source>{} ranks of {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/topology_page.cpp"/>
        <source>{} culprits</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/topology_page.cpp"/>
        <source>waited in {}, per rank and step</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/topology_page.cpp"/>
        <source>waited in {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/topology_page.cpp"/>
        <source>{}, ranks {} to {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/what_if_page.cpp"/>
        <location filename="../widgets/export_dialog.cpp"/>
        <source>Ranks</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/what_if_page.cpp"/>
        <source>Input and host</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/what_if_page.cpp"/>
        <source>Communication</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/what_if_page.cpp"/>
        <source>Device</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/what_if_page.cpp"/>
        <source>Computation</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/what_if_page.cpp"/>
        <source>Scale</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/what_if_page.cpp"/>
        <location filename="../view/session/page.h"/>
        <source>What if</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/what_if_page.cpp"/>
        <source>This run could not be replayed: it has no steady steps, or too little was recorded. The diagnostics say why.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/what_if_page.cpp"/>
        <source>The replay of this run was rejected, so there are no predictions: {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/what_if_page.cpp"/>
        <source>it does not reproduce what was recorded</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/what_if_page.cpp"/>
        <source>recorded</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/what_if_page.cpp"/>
        <source>computing …</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/what_if_page.cpp"/>
        <source>predicted</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/what_if_page.cpp"/>
        <source>no gain beyond chance</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/what_if_page.cpp"/>
        <source>{} less per step</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/what_if_page.cpp"/>
        <source>{} more per step</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/what_if_page.cpp"/>
        <source>{} of the step, {:.2f} × as many steps</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/what_if_page.cpp"/>
        <source>Move a slider, or choose one of the best, to see how long a step would take.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/what_if_page.cpp"/>
        <source>copy as command line</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/what_if_page.cpp"/>
        <source>all as recorded</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/what_if_page.cpp"/>
        <source>It rests on: {}.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/what_if_page.cpp"/>
        <source>It errs: {}.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/what_if_page.cpp"/>
        <source>This run cannot answer that: {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/what_if_page.cpp"/>
        <source>at most, by itself</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/what_if_page.cpp"/>
        <source>What gains most</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/what_if_page.cpp"/>
        <source>No usual change gains half a percent of a step or more.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/pages/what_if_page.cpp"/>
        <source>Click to add a change or to take it back. Combined gains are not the sum of single ones.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/panels.cpp"/>
        <source>from</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/panels.cpp"/>
        <source>to</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/panels.cpp"/>
        <source>length</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/panels.cpp"/>
        <source>rank {} waited</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/panels.cpp"/>
        <source>ended</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/panels.cpp"/>
        <source>at</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/panels.cpp"/>
        <source>it was</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/panels.cpp"/>
        <source>raised</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/panels.cpp"/>
        <source>its collective</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/panels.cpp"/>
        <source>standard error</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/panels.cpp"/>
        <source>Python stack</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/panels.cpp"/>
        <source>native stack</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/panels.cpp"/>
        <source>a rank that is not known</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/panels.cpp"/>
        <source>, the other side was not recorded</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/panels.cpp"/>
        <source>, one side never began</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/panels.cpp"/>
        <source>, clock bound unknown</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/panels.cpp"/>
        <source>, clocks agree to ± {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/panels.cpp"/>
        <source>message</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/panels.cpp"/>
        <source>related</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/panels.cpp"/>
        <source>first {} of more events</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/panels.cpp"/>
        <source>Nothing else above 1 % of a step.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/panels.cpp"/>
        <source>No finding: no rank holds the others up, and no rule applies.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/panels.cpp"/>
        <source>Findings were not computed from this run; the diagnostics say why.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/panels.cpp"/>
        <source>No diagnostics: everything was recorded and read.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/panels.cpp"/>
        <source>{} · {} on {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/panels.cpp"/>
        <source>{} host</source>
        <extracomment>for 1; else: {} hosts</extracomment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/panels.cpp"/>
        <source>{} hosts</source>
        <extracomment>for all but 1, which is: {} host</extracomment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/panels.cpp"/>
        <source> · {} · median {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/panels.cpp"/>
        <source>{} step</source>
        <extracomment>for 1; else: {} steps</extracomment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/panels.cpp"/>
        <source>{} steps</source>
        <extracomment>for all but 1, which is: {} step</extracomment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/panels.cpp"/>
        <source>{} of {} ranks</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/panels.cpp"/>
        <source>idle</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/panels.cpp"/>
        <source>recording cost {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/panels.cpp"/>
        <location filename="../view/timeline/timeline_view.cpp"/>
        <source>one clock</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/panels.cpp"/>
        <source>clock ± {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/panels.cpp"/>
        <location filename="../view/timeline/timeline_view.cpp"/>
        <source>clock bound unknown</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/panels.cpp"/>
        <source>{} lost</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/panels.cpp"/>
        <source>{} · median {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/panels.cpp"/>
        <source>no rank's own work stands out</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/panels.cpp"/>
        <source>rank {}: own delay {} per step</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/panels.cpp"/>
        <source>rank {} on {}: own delay {} per step</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/panels.cpp"/>
        <source>preliminary: costs and causes are still being computed</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/session/dock.h"/>
        <source>Selection</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/session/dock.h"/>
        <source>Table</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/session/dock.h"/>
        <source>Flame</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/session/dock.h"/>
        <source>Histogram</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/session/dock.h"/>
        <source>SQL</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/session/dock.h"/>
        <source>Diagnostics</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/session/dock.h"/>
        <source>Info</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/session/dock.h"/>
        <source>Findings</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/session/dock.h"/>
        <source>Details</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/session/dock.h"/>
        <source>Path</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/session/page.h"/>
        <source>Overview</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/session/page.h"/>
        <location filename="../widgets/canvas.cpp"/>
        <source>Timeline</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/session/page.h"/>
        <source>Ranks × steps</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/session/page.h"/>
        <source>Collectives</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/session/page.h"/>
        <source>Matrix</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/session/page.h"/>
        <source>Memory</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/session/page.h"/>
        <source>Compare</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/session/page.h"/>
        <source>Topology</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/session/shown_path.cpp"/>
        <source>only steady steps that the replay reproduces have a path</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/session/shown_path.cpp"/>
        <location filename="../widgets/commands.cpp"/>
        <source>the run has no critical path</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/session/shown_path.cpp"/>
        <source>this step has no critical path</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/session/sql_results.cpp"/>
        <source>the result has no times to show</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/session/sql_results.cpp"/>
        <source>name a column start_ns, time_ns or ts, and another duration_ns</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/session/sql_results.cpp"/>
        <source>older</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/timeline/failure_banner.cpp"/>
        <source>Hang: {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/timeline/failure_banner.cpp"/>
        <source>Failed: {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/timeline/failure_banner.cpp"/>
        <source>culprit: rank {}</source>
        <extracomment>for 1; else: culprits: ranks {}</extracomment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/timeline/failure_banner.cpp"/>
        <source>culprits: ranks {}</source>
        <extracomment>for all but 1, which is: culprit: rank {}</extracomment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/timeline/failure_banner.cpp"/>
        <source>waiting: rank {}</source>
        <extracomment>for 1; else: waiting: ranks {}</extracomment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/timeline/failure_banner.cpp"/>
        <source>waiting: ranks {}</source>
        <extracomment>for all but 1, which is: waiting: rank {}</extracomment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/timeline/notable_strip.cpp"/>
        <source>a different rank in each step</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/timeline/notable_strip.cpp"/>
        <source>{}: {} ranks, rank {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/timeline/notable_strip.cpp"/>
        <source>Worth a look</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/timeline/overlay.cpp"/>
        <source> · last: rank {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/timeline/overlay.cpp"/>
        <source>waits for rank {}</source>
        <extracomment>for 1; else: waits for ranks {}</extracomment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/timeline/overlay.cpp"/>
        <source>waits for ranks {}</source>
        <extracomment>for all but 1, which is: waits for rank {}</extracomment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/timeline/overlay.cpp"/>
        <source>not completed by all its ranks</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/timeline/overlay.cpp"/>
        <source>others waited up to {}, transfer {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/timeline/overlay.cpp"/>
        <source>last to arrive unknown: clocks agree to ± {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/timeline/overlay.cpp"/>
        <source>last to arrive unknown: clock bound unknown</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/timeline/overlay.cpp"/>
        <source>and {} more columns</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/timeline/overlay.cpp"/>
        <source>{} · {} · rank {}, {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/timeline/overlay.cpp"/>
        <source>at {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/timeline/overlay.cpp"/>
        <source>, overlaps communication</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/timeline/overlay.cpp"/>
        <source>{} · rank {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/timeline/overlay.cpp"/>
        <source>the longest of {} here: zoom in to see each</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/timeline/overlay.cpp"/>
        <source>around here {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/timeline/overlay.cpp"/>
        <source>not known here</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/timeline/path_lines.cpp"/>
        <source>the path continues: rank {} waited for rank {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/timeline/path_lines.cpp"/>
        <source>step {}, at {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/timeline/path_lines.cpp"/>
        <source>on the critical path of step {}: {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/timeline/path_lines.cpp"/>
        <source>off the critical path: it waits</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/timeline/path_lines.cpp"/>
        <source>as good as on the critical path</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/timeline/path_lines.cpp"/>
        <source>off the critical path: at least {} of the step to spare</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/timeline/row_marks.cpp"/>
        <source>{} record lost: {}</source>
        <extracomment>for 1; else: {} records lost: {}</extracomment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/timeline/row_marks.cpp"/>
        <source>{} records lost: {}</source>
        <extracomment>for all but 1, which is: {} record lost: {}</extracomment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/timeline/row_marks.cpp"/>
        <source>recording broke off</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/timeline/row_marks.cpp"/>
        <source>process killed</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/timeline/row_marks.cpp"/>
        <source>process killed, {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/timeline/timeline_view.cpp"/>
        <source>No rank, host or thread matches “{}”.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../view/timeline/timeline_view.cpp"/>
        <source>Empty the filter above the tracks, or go back: Backspace.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/canvas.cpp"/>
        <source>Time bar</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/canvas.cpp"/>
        <source>Tracks</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Zoom in</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Zoom out</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>The whole run</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Earlier</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Later</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Scroll up</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Scroll down</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Page up</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Page down</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Start of the run</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>End of the run</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Bring the selection into view; again: fit it</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Selection becomes the range</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Back to the range, page or filter before</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Forward to the range, page or filter after</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Next finding</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Previous finding</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Next rank worth a look: culprits, their victims, slowest, fastest, typical</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Previous rank worth a look</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Ranks × steps: group ranks by host, rack or communicator, in turn</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Ranks × steps: fold or unfold all groups</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Next step</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Previous step</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Next rank to arrive at the collective</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Previous rank to arrive at the collective</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Where it failed</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Next on the lane</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Previous on the lane</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Show or hide the critical path</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Why is this step long?</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Copy the what-if as a command line</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>nothing is changed yet</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <location filename="../widgets/main_window.cpp"/>
        <source>copied: %1</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Fold or unfold the selected rank</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Pin the selected tracks on top, or unpin them</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Pin or unpin this track on all ranks</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Pin or unpin the ranks of the selected collective's communicator</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Hide the selected tracks</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Show the hidden tracks</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Move the selected rank up</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Move the selected rank down</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Write a note at the mouse</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Write a note on the selected range</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Go to a selector</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Search for events by name</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Run a command by its name</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Filter the tracks</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Page: %1</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Show or hide the tracks</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Detach the dock from the window, or put it back</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Close the dock</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Copy the listed events, or the SQL result</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>%1 rows copied</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>%1 of %2 events copied</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Save the listed events as CSV</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Copy the selectors of what is selected</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Open a run</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <location filename="../widgets/recent_list.cpp"/>
        <source>Recent runs</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Export the run…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Read the run again</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Save this view as a file</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Save the view as a picture (PNG, SVG, PDF)</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Reset the layout</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>End the SQL statement; leave the field; clear the selection</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>All keys</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>The manual of this view</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Run the SQL statement</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>In its field: the SQL statement before</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>In its field: the SQL statement after</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Previous row of the SQL result</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Next row of the SQL result</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Make a track from the SQL result, or remove it</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Remove the selected track made from a SQL result, or all of them</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Begin a SQL statement</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Next part of the window</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Previous part of the window</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Full screen</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>On the timeline: the event around this one</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>On the timeline: the first event within this one</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Save what is seen</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Pictures (*.png *.svg *.pdf)</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>saved %1</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Save the listed events</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Tables (*.csv)</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>%1 of %2 events saved</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>%1: %2</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Save this view</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Views (*.json)</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>All events of this name</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/commands.cpp"/>
        <source>Why is step %1 long?</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/dock_title.cpp"/>
        <location filename="../widgets/docks.cpp"/>
        <source>Take out of the window</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/dock_title.cpp"/>
        <location filename="../widgets/docks.cpp"/>
        <location filename="../widgets/export_dialog.cpp"/>
        <source>Close</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/dock_title.cpp"/>
        <location filename="../widgets/docks.cpp"/>
        <source>Put back into the window</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/event_loader.cpp"/>
        <source>loading rank %1</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/event_loader.cpp"/>
        <source>events of {} rank do not fit into {}: fold others, or raise --memory</source>
        <extracomment>for 1; else: events of {} ranks do not fit into {}: fold others, or raise --memory</extracomment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/event_loader.cpp"/>
        <source>events of {} ranks do not fit into {}: fold others, or raise --memory</source>
        <extracomment>for all but 1, which is: events of {} rank do not fit into {}: fold others, or raise --memory</extracomment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/export_dialog.cpp"/>
        <source>Perfetto: one file for ui.perfetto.dev</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/export_dialog.cpp"/>
        <source>Chrome JSON: a file for each rank, as PyTorch's profiler writes it</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/export_dialog.cpp"/>
        <source>CSV: a file for each table</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/export_dialog.cpp"/>
        <source>Parquet: a file for each table (needs Python's pyarrow)</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/export_dialog.cpp"/>
        <source>speedscope: one file for speedscope.app</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/export_dialog.cpp"/>
        <source>Folded stacks: one file for flame graphs</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/export_dialog.cpp"/>
        <source>Export the run</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/export_dialog.cpp"/>
        <source>Format</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/export_dialog.cpp"/>
        <source>all; or some of them: 0,4-7</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/export_dialog.cpp"/>
        <source>Steps</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/export_dialog.cpp"/>
        <source>all; or from 20 up to before 30: 20:30</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/export_dialog.cpp"/>
        <source>Only what is selected</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/export_dialog.cpp"/>
        <source>To</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/export_dialog.cpp"/>
        <source>Choose another place</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/export_dialog.cpp"/>
        <source>Where to? No file is named.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/export_dialog.cpp"/>
        <source>%1 is there already. Export once more to replace it.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/export_dialog.cpp"/>
        <source>Cancelled: nothing was written.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/export_dialog.cpp"/>
        <location filename="../widgets/sql_pane.cpp"/>
        <source>Cancel</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/export_dialog.cpp"/>
        <source>Export</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/go_to_field.cpp"/>
        <source>/ search   &gt; command   : SQL   rank:5   step:42</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/go_to_field.cpp"/>
        <source>Search, command, SQL statement or selector</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/heatmap_pane.cpp"/>
        <source>Ranks and steps</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/key_bindings.cpp"/>
        <source>%1 is the key of: %2</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/key_bindings.cpp"/>
        <source>Keys</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/key_bindings.cpp"/>
        <source>Press other keys in a field to bind them to its command.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/key_bindings.cpp"/>
        <source>Zoom in, out at the mouse (with Shift: faster)</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/key_bindings.cpp"/>
        <source>Earlier, later (with Shift: faster)</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/key_bindings.cpp"/>
        <source>Ctrl+wheel</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/key_bindings.cpp"/>
        <source>Zoom at the mouse; Shift+wheel: earlier, later</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/key_bindings.cpp"/>
        <source>drag</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/key_bindings.cpp"/>
        <source>Select a range; with the middle button: move; with Shift: measure</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/key_bindings.cpp"/>
        <source>All keys as they were</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/main_window.cpp"/>
        <source>Failure</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/main_window.cpp"/>
        <source>TRACKS</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/main_window.cpp"/>
        <source>filter by rank, host, thread</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/main_window.cpp"/>
        <source>Filter tracks</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/main_window.cpp"/>
        <source>no event's name contains %1</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/main_window.cpp"/>
        <source>no later event of that name</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/main_window.cpp"/>
        <source>no earlier event of that name</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/main_window.cpp"/>
        <source>no command contains '%1'; ? lists them</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/main_window.cpp"/>
        <source>none of the recent runs is still there</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/main_window.cpp"/>
        <source>The folder of a run</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/main_window.cpp"/>
        <source>the run has changed on disk: F5 reads it again</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/main_window.cpp"/>
        <source>still being recorded, and followed</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/manual.cpp"/>
        <source>Manual</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/opening_pane.cpp"/>
        <source>No run is open</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/opening_pane.cpp"/>
        <source>drop one here, or record one: dprof record -n 2 -- ./train</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/opening_pane.cpp"/>
        <source>Opening the run</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/opening_pane.cpp"/>
        <source>Opening {}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/picture.cpp"/>
        <source>{} has an unknown ending</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/picture.cpp"/>
        <source>pictures are written as .png, .svg or .pdf</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/picture.cpp"/>
        <source>is the folder there, and writable?</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/recent_list.cpp"/>
        <source>%1 and %2 more</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/sql_pane.cpp"/>
        <source>SELECT … (Ctrl+Enter runs it, Ctrl+↑ brings back earlier ones)</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/sql_pane.cpp"/>
        <source>SQL statement</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/sql_pane.cpp"/>
        <source>Run</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/sql_pane.cpp"/>
        <source>Esc</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/sql_pane.cpp"/>
        <source>Ctrl+Enter</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/sql_pane.cpp"/>
        <source>Cancel the statement</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/sql_pane.cpp"/>
        <source>Run the statement</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/view_keeper.cpp"/>
        <source>this view cannot be saved: the run's folder and yours are read-only</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/worker.cpp"/>
        <source>error</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../widgets/worker.cpp"/>
        <source>hint</source>
        <translation type="unfinished"></translation>
    </message>
</context>
</TS>
