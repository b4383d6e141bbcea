internal import FanfareCore
internal import FanfareJSON
internal import FanfareModel
internal import StreamWire

enum JobCheckResult {
    case fine(JobOutline, InputText, FailingRecipients?)
    case broken(PlacedFault)

    var isFine: Bool { if case .fine = self { true } else { false } }

    var text: String {
        switch self {
        case .fine(let outline, let input, _): return "\(input.label): ok: \(outline.text)"
        case .broken(let fault): return fault.text
        }
    }

    /// A line about the recipients of a job without a fault that would fail; nil without any.
    var warning: String? {
        guard case .fine(let outline, let input, let failing?) = self else { return nil }
        return "\(input.label): warning: \(failing.text(of: outline.recipients ?? 0))"
    }

    var json: JSONObject {
        switch self {
        case .fine(let outline, let input, let failing):
            var object: JSONObject = ["ok": true]
            if input.firstLine > 1 { object["line"] = .number(JSONNumber(Int64(input.firstLine))) }
            return JSONObject(object.members + outline.json.members + (failing?.json.members ?? []))
        case .broken(let fault): return JSONObject([.init(key: "ok", value: false)] + fault.json.members)
        }
    }
}

extension JobText {
    func result(_ check: EntryCheck, hasProject: Bool) -> JobCheckResult {
        do throws(EntryFault) {
            let fields = try fields()
            if !hasProject, fields.contains(where: { $0.name == "audience" }) {
                throw EntryFault("audience", "its key holds the project's id; name the project with --project")
            }
            let outline = try check.check(fields)
            if let window = outline.job.guards.sendWindow { try SendCheck.checkZone(of: window) }
            return .fine(outline, input, FailingRecipients(of: outline.job, try check.preview(of: outline.job)))
        } catch {
            return .broken(input.placed(error, root: ""))
        }
    }
}

extension InputText {
    fileprivate var label: String { firstLine > 1 ? "\(name):\(firstLine)" : name }
}

extension JobOutline {
    /// Such as `fan-out to 2500 tokens in 3 batches; message of 57 bytes, at most 4096`.
    fileprivate var text: String {
        let name = job.operation == .send ? "" : "\(job.operation.rawValue), "
        let message = messageBytes.flatMap { bytes in messageLimit.map { "; message of \(bytes) bytes, at most \($0)" }
        }
        return name + target + (message ?? "")
    }

    private var target: String {
        switch job.target {
        case .tokens(let list): return recipients("token", list.count) + topic
        case .fids(let list): return recipients("fid", list.count)
        case .topic(let topic): return "fan-out to topic \(topic)"
        case .condition: return "fan-out to a condition"
        case .group: return job.operation == .send ? "to a device group" : "a device group"
        case .recipients(let list): return recipients("recipient", list.count)
        case .audience: return "to an audience, whose members are checked when they are sent"
        }
    }

    private var topic: String { job.subscription.isEmpty ? "" : ", topic \(job.subscription)" }

    private func recipients(_ kind: String, _ count: Int) -> String {
        let number = "\(count) \(kind)\(count == 1 ? "" : "s")"
        guard let batches, batches > 1 else { return "\(job.operation == .send ? "to " : "")\(number)" }
        return "\(jobClass == .fanout ? "fan-out to " : "")\(number) in \(batches) batches"
    }
}
