#include "gpuhist/io/page.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "dataset/json.hpp"
#include "encode/encode.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/io/report.hpp"
#include "gpuhist/version.hpp"
#include "report/text.hpp"

namespace gpuhist::io {

// Style and script, and their checksums in hexadecimal digits, which CMake makes of the files in page/.
extern const char page_css[], page_css_sha256[], page_js[], page_js_sha256[];

namespace {

constexpr std::string_view unknown = "\xEF\xBF\xBD";  // U+FFFD

/// Characters that HTML forbids, steer terminals, or reorder the text around them.
bool is_refused(int character) {
    return character < 0x20 || (character >= 0x7F && character < 0xA0) || character == 0x61C || character == 0x200E ||
           character == 0x200F || (character >= 0x2028 && character <= 0x202E) ||
           (character >= 0x2066 && character <= 0x2069) || (character & 0xFFFE) == 0xFFFE;
}

/// Text in UTF-8 with U+FFFD in the place of other bytes and of refused characters.
std::string clean(std::string_view text) {
    std::string safe;
    while (!text.empty()) {
        const std::string_view before = text;
        const int character = next_character(text);
        const std::string_view bytes = before.substr(0, before.size() - text.size());
        safe += is_refused(character) || (character == '?' && bytes != "?") ? unknown : bytes;
    }
    return safe;
}

/// Text for elements and attributes of HTML.
std::string escaped(std::string_view text) {
    std::string safe;
    for (const char byte : clean(text)) {
        if (byte == '<')
            safe += "&lt;";
        else if (byte == '>')
            safe += "&gt;";
        else if (byte == '&')
            safe += "&amp;";
        else if (byte == '"')
            safe += "&quot;";
        else if (byte == '\'')
            safe += "&#39;";
        else
            safe += byte;
    }
    return safe;
}

/// Name of any bytes, apart from the direction of the text around it.
std::string name(std::string_view text) {
    return "<bdi>" + escaped(text) + "</bdi>";
}

std::string number(double value) {
    if (std::isfinite(value) && value == std::floor(value) && std::abs(value) < 1e15)
        return (value < 0 ? "-" : "") + grouped(static_cast<std::uint64_t>(std::abs(value)));
    if (std::abs(value) >= 1e4 && std::abs(value) < 1e15) return number(std::round(value));
    return formatted("%.4g", value);
}

std::string counted(std::uint64_t count, const char* one) {
    return grouped(count) + ' ' + one + (count == 1 ? "" : "s");
}

/// Coordinate in a drawing, with one decimal at most.
std::string place(double value) {
    const auto tenths = std::llround(value * 10);
    std::string text = std::to_string(tenths / 10);
    if (tenths % 10 != 0) text.append(".").append(std::to_string(std::llabs(tenths % 10)));
    return text;
}

/// Bytes of a checksum from hexadecimal digits.
std::string bytes_of(std::string_view digits) {
    const auto value = [](char digit) { return digit <= '9' ? digit - '0' : digit - 'a' + 10; };
    std::string bytes;
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
        bytes += static_cast<char>(value(digits[i]) * 16 + value(digits[i + 1]));
    return bytes;
}

std::string hash_source(const char* sha256) {
    return "'sha256-" + base64(bytes_of(sha256)) + "'";
}

constexpr double plot_height = 100;

/// Height of a histogram's axis: that of its highest bar, but not if a few bars are far higher than all others.
double top_of(const PageHistogram& histogram) {
    std::vector<double> counts;
    for (const PageHistogram::Line& line : histogram.lines)
        for (const double count : line.counts)
            if (count > 0) counts.push_back(count);
    if (counts.empty()) return 1;
    std::sort(counts.begin(), counts.end());
    const double most = counts.back();
    const double usual = counts[static_cast<std::size_t>(static_cast<double>(counts.size() - 1) * 0.97)];
    return most > 2.5 * usual ? 1.2 * usual : most;
}

/// Outline of a histogram as a path, closed along the axis.
std::string outline(const std::vector<double>& counts, double top) {
    std::string path = "M0 " + place(plot_height);
    std::string before = place(plot_height);
    for (std::size_t i = 0; i < counts.size(); ++i) {
        const std::string now = place(plot_height * (1 - std::min(1.0, counts[i] / top)));
        if (now == before) continue;
        path += "H" + std::to_string(i) + "V" + now;
        before = now;
    }
    return path + "H" + std::to_string(counts.size()) + "V" + place(plot_height) + "Z";
}

std::string svg(std::size_t bins, const std::string& label, const std::string& inner) {
    return "<svg class=\"plot\" role=\"img\" aria-label=\"" + escaped(label) + "\" viewBox=\"0 0 " +
           std::to_string(bins) + " 100\" preserveAspectRatio=\"none\">" + inner + "</svg>";
}

std::string ticks(double lower, double upper, int count) {
    std::string text = "<div class=\"ticks\">";
    for (int i = 0; i < count; ++i) text += "<span>" + number(lower + (upper - lower) * i / (count - 1)) + "</span>";
    return text + "</div>\n";
}

/// Class of the style for a channel.
std::string color_of(const std::string& channel, std::size_t index) {
    for (const char* known : {"red", "green", "blue", "gray", "luma", "alpha"})
        if (channel == known) return known;
    return "band" + std::to_string(index % 4);
}

class Writer {
  public:
    explicit Writer(const Page& page) : page_(page) {}

    std::string head() {
        out_ =
            "<!doctype html>\n<!-- gpuhist report -->\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src " +
            hash_source(page_js_sha256) + "; style-src " + hash_source(page_css_sha256) +
            "; img-src data:; base-uri 'none'; form-action 'none'\">\n"
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
            "<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"generator\" content=\"gpuhist " +
            std::string(version()) + "\">\n<title>" + escaped(page_.title) + " - gpuhist</title>\n<style>" + page_css +
            "</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">Skip to the contents</a>\n";
        write_header();
        out_ += "<main id=\"main\" class=\"wrap\">\n";
        write_flags();
        write_sets();
        write_groups();
        write_measures();
        write_gallery();
        write_duplicates();
        write_errors();
        write_changes();
        return std::move(out_);
    }

    std::string tail() {
        out_.clear();
        write_definitions();
        out_ += "</main>\n<footer class=\"wrap\">Made by gpuhist " + std::string(version()) + " from " +
                name(page_.source) +
                ". Numbers here are rounded; the files there have them exactly. This page needs nothing from outside."
                "</footer>\n<script>";
        out_ += page_js;
        out_ += "</script>\n</body>\n</html>\n";
        return std::move(out_);
    }

    /// Section with the rows of images. `packed` are the rows, `count` of them.
    std::string images(std::size_t count, const std::string& packed) {
        out_.clear();
        const PageImages& images = page_.images;
        std::string lead = "All " + counted(images.all, "image") + '.';
        if (count < images.all)
            lead = grouped(count) + " of " + counted(images.all, "image") + ": " +
                   (count < images.rows.size() ? "the first of " : "") + images.chosen + '.';
        begin("images", "Images", lead);
        std::string choices;
        for (std::size_t bit = 0; bit < images.flags.size(); ++bit)
            choices += "<option value=\"" + std::to_string(bit) + "\">" + escaped(images.flags[bit]) + "</option>";
        out_ +=
            "<div class=\"tools\"><label>Filter<input id=\"find\" type=\"search\" autocomplete=\"off\" "
            "spellcheck=\"false\" placeholder=\"part of a path, noise&gt;5, width&lt;640\" disabled></label>"
            "<label>Flag<select id=\"flag\" disabled><option value=\"\">all images</option>"
            "<option value=\"any\">any flag</option>" +
            choices +
            "</select></label><output id=\"count\" aria-live=\"polite\"></output></div>\n"
            "<div id=\"table\" tabindex=\"0\" role=\"region\" aria-label=\"Table of images\">"
            "<noscript>The table needs scripts. stats.csv and quality.csv have the same rows.</noscript></div>\n"
            "<p class=\"hint\">Press <kbd>/</kbd> to filter, and click a heading to sort. Words in the filter are "
            "parts of paths; conditions such as <code>width&lt;640</code> compare a column with a number. Several "
            "must all hold.</p>\n"
            "<script type=\"application/octet-stream\" id=\"rows\">";
        out_ += packed;
        out_ += "</script>\n</section>\n";
        return std::move(out_);
    }

  private:
    void begin(const char* id, const char* title, const std::string& lead) {
        out_ += std::string("<section id=\"") + id + "\" aria-label=\"" + title + "\">\n<h2>" + title + "</h2>\n";
        if (!lead.empty()) out_ += "<p class=\"lead\">" + lead + "</p>\n";
    }

    void write_header() {
        out_ += "<header class=\"wrap\">\n<p class=\"made\"><b>gpuhist</b> report</p>\n<h1>" + name(page_.title) +
                "</h1>\n<dl class=\"facts\">\n";
        for (const PageFact& fact : page_.facts)
            out_ += "<div><dt>" + escaped(fact.label) + "</dt><dd" + (fact.marked ? " class=\"marked\"" : "") + '>' +
                    escaped(fact.value) + "</dd></div>\n";
        out_ += "</dl>\n";
        if (!page_.remarks.empty()) {
            out_ += "<ul class=\"remarks\">\n";
            for (const std::string& remark : page_.remarks) out_ += "<li>" + escaped(remark) + "</li>\n";
            out_ += "</ul>\n";
        }
        out_ += "</header>\n<nav aria-label=\"Sections\"><ul class=\"wrap\">";
        const std::pair<bool, std::pair<const char*, const char*>> sections[] = {
            {page_.flags_known, {"flags", "Flags"}},
            {!page_.sets.empty(), {"set", "Set"}},
            {!page_.groups.shown.empty(), {"classes", "Classes"}},
            {!page_.measures.empty(), {"measures", "Measures"}},
            {has_gallery(), {"gallery", "Gallery"}},
            {page_.duplicates && page_.duplicates->groups > 0, {"duplicates", "Duplicates"}},
            {!page_.errors.empty(), {"errors", "Errors"}},
            {page_.changes.has_value(), {"changes", "Changes"}},
            {true, {"images", "Images"}},
            {true, {"definitions", "Definitions"}},
        };
        for (const auto& [there, section] : sections)
            if (there) out_ += std::string("<li><a href=\"#") + section.first + "\">" + section.second + "</a></li>";
        out_ += "</ul></nav>\n";
    }

    bool has_gallery() const {
        return std::any_of(page_.flags.begin(), page_.flags.end(),
                           [](const PageFlag& flag) { return !flag.worst.empty(); });
    }

    void write_flags() {
        if (!page_.flags_known) return;
        std::uint64_t most = 0;
        for (const PageFlag& flag : page_.flags) most = std::max(most, flag.images);
        begin("flags", "Flags", most == 0 ? "No image is flagged." : "Images with each flag, and the rule behind it.");
        out_ += "<ul class=\"bars body\">\n";
        for (const PageFlag& flag : page_.flags) {
            const bool none = flag.images == 0;
            const double width =
                none ? 0 : std::max(0.4, 100.0 * static_cast<double>(flag.images) / static_cast<double>(most));
            const std::string label = none || flag.worst.empty() ? escaped(flag.name)
                                                                 : "<a href=\"#flag-" + escaped(flag.name) + "\">" +
                                                                       escaped(flag.name) + "</a>";
            out_ += std::string("<li><span") + (none ? " class=\"none\"" : "") + '>' + label +
                    "</span><svg viewBox=\"0 0 100 8\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect "
                    "width=\"100\" height=\"8\" class=\"ground\"/><rect width=\"" +
                    place(width) + "\" height=\"8\" class=\"mark\"/></svg><span class=\"count" + (none ? " none" : "") +
                    "\">" + grouped(flag.images) + "</span><span class=\"rule\">" + escaped(flag.rule) +
                    "</span></li>\n";
        }
        out_ += "</ul>\n</section>\n";
    }

    void write_table(const PageTable& table) {
        std::vector<bool> numbers(table.headings.size());
        for (const auto& row : table.rows)
            for (std::size_t i = 0; i < row.size() && i < numbers.size(); ++i)
                numbers[i] = numbers[i] || std::holds_alternative<double>(row[i]) ||
                             std::holds_alternative<std::uint64_t>(row[i]);
        out_ += "<div class=\"scroll body\" tabindex=\"0\" role=\"group\" aria-label=\"Numbers\"><table><thead><tr>";
        for (std::size_t i = 0; i < table.headings.size(); ++i)
            out_ += std::string("<th scope=\"col\"") + (numbers[i] ? " class=\"n\"" : "") + '>' +
                    escaped(table.headings[i]) + "</th>";
        out_ += "</tr></thead><tbody>\n";
        for (const auto& row : table.rows) {
            out_ += "<tr>";
            for (std::size_t i = 0; i < row.size(); ++i) {
                std::string text;
                if (const auto* whole = std::get_if<std::uint64_t>(&row[i])) text = grouped(*whole);
                if (const auto* real = std::get_if<double>(&row[i])) text = number(*real);
                if (const auto* words = std::get_if<std::string>(&row[i])) text = name(*words);
                out_ += std::string(i == 0       ? "<th scope=\"row\">"
                                    : numbers[i] ? "<td class=\"n\">"
                                                 : "<td>") +
                        text + (i == 0 ? "</th>" : "</td>");
            }
            out_ += "</tr>\n";
        }
        out_ += "</tbody></table></div>\n";
    }

    void write_histogram(const PageHistogram& histogram) {
        const double top = top_of(histogram);
        std::string key, paths;
        for (std::size_t i = 0; i < histogram.lines.size(); ++i) {
            const PageHistogram::Line& line = histogram.lines[i];
            const std::string color = color_of(line.channel, i);
            key += "<li><svg viewBox=\"0 0 10 10\" aria-hidden=\"true\"><rect class=\"" + color +
                   "\" width=\"10\" height=\"10\" rx=\"2\"/></svg>" + name(line.channel) + "</li>";
            paths += "<path class=\"" + color + "\" d=\"" + outline(line.counts, top) + "\"/>";
        }
        out_ += "<figure class=\"body\"><ul class=\"key\">" +
                (histogram.heading.empty() ? "" : "<li>" + escaped(histogram.heading) + "</li>") + key + "</ul>" +
                svg(histogram.lines.front().counts.size(), "Histogram of " + histogram.heading, paths) +
                ticks(histogram.lower, histogram.upper, 5) + "</figure>\n";
    }

    void write_sets() {
        if (page_.sets.empty()) return;
        begin("set", "Set", "Samples of all images together.");
        for (const PageSet& set : page_.sets) {
            if (page_.sets.size() > 1) out_ += "<h3>" + escaped(set.heading) + "</h3>\n";
            for (const PageHistogram& histogram : set.histograms) write_histogram(histogram);
            write_table(set.channels);
            if (set.training.empty()) continue;
            out_ += "<pre tabindex=\"0\" role=\"group\" aria-label=\"Mean and std for training\">";
            for (const std::string& line : set.training) out_ += escaped(line) + '\n';
            out_ += "</pre>\n";
        }
        out_ += "</section>\n";
    }

    void write_groups() {
        const PageGroups& groups = page_.groups;
        if (groups.shown.empty()) return;
        std::string lead = "Each class against the whole set, which is the gray outline. Shares of samples are drawn.";
        if (groups.shown.size() < groups.all)
            lead += " These " + grouped(groups.shown.size()) + " of " + grouped(groups.all) + " have the most images.";
        begin("classes", "Classes", lead);
        out_ += "<div class=\"grid body\">\n";
        for (std::size_t i = 0; i < groups.shown.size(); ++i) {
            const PageGroup& group = groups.shown[i];
            PageHistogram both = group.histogram;
            const PageHistogram& whole = groups.whole[i];
            both.lines.insert(both.lines.end(), whole.lines.begin(), whole.lines.end());
            out_ += "<figure class=\"class\"><h3>" + name(group.name) + "</h3><p>" + counted(group.images, "image") +
                    (group.depth.empty() ? "" : ", " + escaped(group.depth)) +
                    (group.mean ? ", mean " + number(*group.mean) : "") +
                    (group.std ? ", std " + number(*group.std) : "") + "</p>";
            if (!group.histogram.lines.empty() && !whole.lines.empty()) {
                const double top = top_of(both);
                const std::vector<double>& counts = group.histogram.lines.front().counts;
                out_ += svg(counts.size(), "Histogram of " + group.name,
                            "<path class=\"blue\" d=\"" + outline(counts, top) + "\"/><path class=\"still\" d=\"" +
                                outline(whole.lines.front().counts, top) + "\"/>") +
                        ticks(both.lower, both.upper, 3);
            }
            out_ += "</figure>\n";
        }
        out_ += "</div>\n</section>\n";
    }

    /// Bars as one path.
    static std::string bars(const std::vector<double>& counts, double top) {
        std::string path;
        for (std::size_t i = 0; i < counts.size(); ++i) {
            if (counts[i] <= 0) continue;
            const double high = std::max(1.0, plot_height * std::min(1.0, counts[i] / top));
            path += "M" + std::to_string(i) + " 100v-" + place(high) + "h.9v" + place(high) + "z";
        }
        return path;
    }

    void write_measures() {
        if (page_.measures.empty()) return;
        begin("measures", "Measures",
              page_.flags_known ? "Images by each number. Images that it flags are colored, and a dashed "
                                  "line is the threshold."
                                : "Images by each number.");
        out_ += "<div class=\"grid body\">\n";
        for (const PageMeasure& measure : page_.measures) {
            const double top = std::max(1.0, *std::max_element(measure.counts.begin(), measure.counts.end()));
            double flagged = static_cast<double>(measure.flagged_outside);
            for (const double count : measure.flagged) flagged += count;
            std::string inner = "<path class=\"bar\" d=\"" + bars(measure.counts, top) +
                                "\"/><path class=\"mark\" d=\"" + bars(measure.flagged, top) + "\"/>";
            if (measure.threshold && *measure.threshold > measure.lower && *measure.threshold < measure.upper) {
                const std::string at =
                    formatted("%.2f", (*measure.threshold - measure.lower) / (measure.upper - measure.lower) *
                                          static_cast<double>(measure.counts.size()));
                inner += "<line x1=\"" + at + "\" x2=\"" + at + "\" y1=\"0\" y2=\"100\"/>";
            }
            std::string label = "Distribution of " + measure.name;
            if (measure.minimum && measure.maximum)
                label += ", from " + number(*measure.minimum) + " to " + number(*measure.maximum);
            out_ += "<figure class=\"measure\"><h3>" + escaped(measure.name) + "</h3><p class=\"what\">" +
                    escaped(measure.definition) + "</p>" + svg(measure.counts.size(), label, inner) +
                    ticks(measure.lower, measure.upper, 3);
            std::string tail;
            if (flagged > 0) {
                std::string flags;
                for (const std::string& flag : measure.flags) flags += (flags.empty() ? "" : ", ") + flag;
                tail = grouped(static_cast<std::uint64_t>(flagged)) + ' ' + escaped(flags);
            }
            if (measure.below + measure.above > 0) {
                tail += (tail.empty() ? "" : "; ") + std::string("<span class=\"soft\">");
                if (measure.below > 0) tail += grouped(measure.below) + " below";
                if (measure.above > 0)
                    tail += (measure.below > 0 ? ", " : "") + grouped(measure.above) + " above, up to " +
                            number(*measure.maximum);
                tail += "</span>";
            }
            out_ += "<p class=\"tail\">" + tail + "</p></figure>\n";
        }
        out_ += "</div>\n</section>\n";
    }

    void write_picture(const PagePicture& picture) {
        out_ += "<figure>";
        if (picture.jpeg.empty())
            out_ += "<div class=\"gap\">" + escaped(picture.missing) + "</div>";
        else
            out_ += "<img alt=\"" + escaped(picture.path) + "\" width=\"" + std::to_string(picture.width) +
                    "\" height=\"" + std::to_string(picture.height) + "\" src=\"data:image/jpeg;base64," +
                    base64({reinterpret_cast<const char*>(picture.jpeg.data()), picture.jpeg.size()}) + "\">";
        out_ += "<figcaption>" + (picture.caption.empty() ? "" : "<b>" + escaped(picture.caption) + "</b>") +
                name(picture.path) + "</figcaption></figure>\n";
    }

    void write_gallery() {
        if (!has_gallery()) return;
        begin("gallery", "Gallery", "The worst images of each flag.");
        for (const PageFlag& flag : page_.flags) {
            if (flag.worst.empty()) continue;
            out_ += "<h3 id=\"flag-" + escaped(flag.name) + "\">" + escaped(flag.name) + "<small>" +
                    counted(flag.images, "image") + (flag.rule.empty() ? "" : ", " + escaped(flag.rule)) +
                    "</small><button class=\"jump\" type=\"button\" data-flag=\"" + escaped(flag.name) +
                    "\" hidden>show in the table</button></h3>\n<p class=\"lead\">" + escaped(flag.definition) +
                    "</p>\n<div class=\"gallery\">\n";
            for (const PagePicture& picture : flag.worst) write_picture(picture);
            out_ += "</div>\n";
        }
        out_ += "</section>\n";
    }

    void write_duplicates() {
        if (!page_.duplicates || page_.duplicates->groups == 0) return;
        const PageDuplicates& found = *page_.duplicates;
        std::string lead = grouped(found.copies) + (found.copies == 1 ? " copy in " : " copies in ") +
                           counted(found.groups, "group") + ", " + grouped(found.equal) + " with equal pixels.";
        if (found.shown.size() < found.groups)
            lead += " The first " + grouped(found.shown.size()) +
                    (found.shown.size() == 1 ? " group is" : " groups are") + " shown.";
        begin("duplicates", "Duplicates", lead);
        for (std::size_t i = 0; i < found.shown.size(); ++i) {
            const PageCopies& copies = found.shown[i];
            out_ += "<div class=\"copies\"><h3>Group " + std::to_string(i + 1) + "<small>" +
                    counted(copies.images, "image") + "</small></h3><div class=\"gallery\">\n";
            for (const PagePicture& picture : copies.shown) write_picture(picture);
            out_ += "</div></div>\n";
        }
        out_ += "</section>\n";
    }

    void write_errors() {
        if (page_.errors.empty()) return;
        std::uint64_t all = 0;
        for (const PageErrors& errors : page_.errors) all += errors.inputs;
        begin("errors", "Errors", counted(all, "input") + " failed, by cause.");
        out_ += "<div class=\"body\">\n";
        for (const PageErrors& errors : page_.errors) {
            out_ += std::string("<details") + (page_.errors.size() <= 3 ? " open" : "") + "><summary><b>" +
                    escaped(errors.kind) + "</b> <span class=\"soft\">" + counted(errors.inputs, "input") +
                    (errors.shown.size() < errors.inputs ? ", of which " + grouped(errors.shown.size()) + " are listed"
                                                         : "") +
                    "</span></summary><ul>\n";
            for (const auto& [path, message] : errors.shown)
                out_ += "<li><span class=\"path\">" + name(path) + "</span> <span class=\"soft\">" + escaped(message) +
                        "</span></li>\n";
            out_ += "</ul></details>\n";
        }
        out_ += "</div>\n</section>\n";
    }

    void write_changes() {
        if (!page_.changes) return;
        const PageChanges& changes = *page_.changes;
        begin("changes", "Changes", "Compared with the earlier results in " + name(changes.earlier) + ".");
        if (!changes.remarks.empty()) {
            out_ += "<ul class=\"body\">\n";
            for (const std::string& remark : changes.remarks) out_ += "<li>" + escaped(remark) + "</li>\n";
            out_ += "</ul>\n";
        }
        if (!changes.channels.rows.empty()) write_table(changes.channels);
        if (!changes.flags.rows.empty()) write_table(changes.flags);
        out_ += "</section>\n";
    }

    void write_definitions() {
        begin("definitions", "Definitions", "What the numbers on this page mean.");
        out_ += "<details class=\"body\"><summary>" + counted(page_.definitions.size(), "column") +
                "</summary><dl class=\"definitions\">\n";
        for (const Column& column : page_.definitions) {
            const std::string_view unit = column.unit;
            out_ += "<dt>" + escaped(column.name) + "</dt><dd>" + escaped(column.definition) +
                    (unit == "none" || unit == "1" ? "" : " Unit: " + escaped(unit) + '.') + "</dd>\n";
        }
        out_ += "</dl></details>\n";
        if (page_.flags_known) {
            out_ +=
                "<details><summary>" + counted(page_.flags.size(), "flag") + "</summary><dl class=\"definitions\">\n";
            for (const PageFlag& flag : page_.flags)
                out_ += "<dt>" + escaped(flag.name) + "</dt><dd>" + escaped(flag.definition) +
                        (flag.rule.empty() ? "" : " Flagged: " + escaped(flag.rule) + '.') + "</dd>\n";
            out_ += "</dl></details>\n";
        }
        out_ += "</section>\n";
    }

    const Page& page_;
    std::string out_;
};

/// Text of a number in the rows of images: as short as three digits after the first allow.
std::string short_number(const std::optional<double>& value) {
    if (!value || !std::isfinite(*value)) return "null";
    if (*value == std::floor(*value) && std::abs(*value) < 1e15) return formatted("%.0f", *value);
    return formatted("%.4g", *value);
}

/// The first rows and columns of numbers, compressed, in base64. Columns come one after the other, which compress
/// better than rows.
std::string packed(const PageImages& images, std::size_t count, std::size_t columns) {
    const auto list = [&](const auto& text_of_row) {
        std::string text = "[";
        for (std::size_t i = 0; i < count; ++i) text += (i == 0 ? "" : ",") + text_of_row(images.rows[i]);
        return text + "]";
    };
    std::string text = "{\"flags\":" + Json(images.flags).dump() + ",\"names\":" +
                       Json(std::vector<std::string>(images.numbers.begin(),
                                                     images.numbers.begin() + static_cast<std::ptrdiff_t>(columns)))
                           .dump() +
                       ",\"paths\":" + list([](const PageImage& row) { return Json(clean(row.path)).dump(); }) +
                       ",\"bits\":" + list([](const PageImage& row) { return std::to_string(row.flags); }) +
                       ",\"numbers\":[";
    for (std::size_t column = 0; column < columns; ++column)
        text += (column == 0 ? "" : ",") +
                list([column](const PageImage& row) { return short_number(row.numbers[column]); });
    return base64(compressed(text + "]}"));
}

/// Halves the lists of pictures. Returns false if there are none.
bool drop_pictures(Page& page) {
    bool any = false;
    const auto drop = [&](std::vector<PagePicture>& pictures) {
        any = any || !pictures.empty();
        pictures.resize(pictures.size() / 2);
    };
    for (PageFlag& flag : page.flags) drop(flag.worst);
    if (page.duplicates) {
        for (PageCopies& copies : page.duplicates->shown) any = any || !copies.shown.empty();
        page.duplicates->shown.resize(page.duplicates->shown.size() / 2);
    }
    for (PageErrors& errors : page.errors) {
        any = any || !errors.shown.empty();
        errors.shown.resize(errors.shown.size() / 2);
    }
    return any;
}

}  // namespace

std::string page_html(Page page) {
    constexpr std::size_t least_rows = 100, least_columns = 8;
    for (;;) {
        Writer writer(page);
        const std::string head = writer.head();
        const std::string tail = writer.tail();
        std::size_t count = page.images.rows.size(), columns = page.images.numbers.size();
        for (;;) {
            const std::string rows = packed(page.images, count, columns);
            const std::string section = writer.images(count, rows);
            const std::size_t bytes = head.size() + section.size() + tail.size();
            if (bytes <= Page::most_bytes) return head + section + tail;
            // What is kept of the rows' text: of its columns first, then of the rows.
            const double kept =
                0.98 * (1 - static_cast<double>(bytes - Page::most_bytes) / static_cast<double>(rows.size() + 1));
            const auto part = [&](std::size_t of) {
                return kept > 0 ? static_cast<std::size_t>(kept * static_cast<double>(of)) : 0;
            };
            if (columns > least_columns)
                columns = std::max(least_columns, std::min(columns - 1, part(columns)));
            else if (count > least_rows)
                count = std::max(least_rows, std::min(count - 1, part(count)));
            else
                break;
        }
        if (!drop_pictures(page)) {
            if (page.images.rows.empty()) throw InvalidArgument("the page would have more than 5 MB");
            page.images.rows.resize(page.images.rows.size() / 2);
            if (page.images.chosen.empty()) page.images.chosen = "the first rows";
        }
    }
}

}  // namespace gpuhist::io
