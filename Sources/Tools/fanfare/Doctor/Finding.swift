internal import FanfareJSON

/// The result of a check: one line, and how to fix it.
struct Finding: Equatable, Sendable {
    enum Severity: String, Sendable {
        case ok
        /// Works now, but can fail later or is probably a mistake.
        case warn
        /// A guarantee does not hold, or nothing can be sent.
        case fail
    }

    var check: String
    var severity: Severity
    var text: String
    var remedy: String?

    var line: String {
        let word =
            severity == .fail ? "FAIL" : severity.rawValue + String(repeating: " ", count: 4 - severity.rawValue.count)
        // Reasons repeat texts of producers and servers, which must not look like another finding.
        let text = PrintableText.line(text, limit: 400)
        return "\(word)  \(check): \(text)" + (remedy.map { "\n      remedy: \($0)" } ?? "")
    }

    var json: JSONObject {
        var object: JSONObject = [
            "check": .string(check), "verdict": .string(severity.rawValue), "text": .string(text),
        ]
        object["remedy"] = remedy.map { .string($0) }
        return object
    }
}

extension [Finding] {
    /// The findings of many projects that differ in the project only become one, in the place of the first.
    func joined(projects ids: [String]) -> [Finding] {
        func project(of finding: Finding) -> String? {
            let words = finding.text.split { " ,:.".contains($0) }
            return ids.first { finding.check.hasSuffix(" \($0)") } ?? ids.first { words.contains($0[...]) }
        }
        func cause(_ finding: Finding) -> [String]? {
            guard let id = project(of: finding) else { return nil }
            let texts = [finding.check, finding.severity.rawValue, finding.text, finding.remedy ?? ""]
            return texts.map { EqualCauses.withoutLine($0.replacing(id, with: "*")) }
        }
        return EqualCauses.joined(self, by: cause) { first, count in
            guard let id = project(of: first) else { return first }
            var joined = first
            joined.check = first.check.replacing("project \(id)", with: "\(count) projects")
                .replacing(" of \(id)", with: " of \(count) projects")
            let place = joined.check == first.check ? "\(count) projects; the first: " : "the first: "
            if first.text.contains(id) { joined.text = place + first.text }
            return joined
        }
    }
}

extension Sequence<Finding> {
    /// The report's last line: how many findings of each verdict, and where to begin.
    var summary: String {
        func count(_ severity: Finding.Severity) -> Int { lazy.filter { $0.severity == severity }.count }
        let (warnings, failures) = (count(.warn), count(.fail))
        var parts = ["\(count(.ok)) ok"]
        if warnings > 0 { parts.append(warnings == 1 ? "1 warning" : "\(warnings) warnings") }
        if failures > 0 { parts.append("\(failures) failed") }
        // Checks come in the order of their causes: without Redis most others fail too.
        let first = self.first { $0.severity == .fail }.map { ": fix `\($0.check)` first" } ?? ""
        return parts.joined(separator: ", ") + first
    }
}

/// Collects findings.
struct Report: Sendable {
    /// The name of the next findings.
    var check: String
    var findings: [Finding] = []

    init(_ check: String) { self.check = check }

    /// Whether no finding has the name ``check``.
    var isEmpty: Bool { !findings.contains { $0.check == check } }

    mutating func ok(_ text: String) { add(.ok, text, nil) }

    mutating func warn(_ text: String, _ remedy: String) { add(.warn, text, remedy) }

    mutating func fail(_ text: String, _ remedy: String) { add(.fail, text, remedy) }

    mutating func add(_ severity: Finding.Severity, _ text: String, _ remedy: String?) {
        findings.append(Finding(check: check, severity: severity, text: text, remedy: remedy))
    }
}
