internal import FanfareClient
internal import FanfareCore
internal import FanfareModel
internal import RedisTransport

/// The recipients of a personal job. Recipients of a short file become a field of the job. Recipients of a long file
/// are written to a Redis list in pieces, so that neither this process nor the stream entry grows with the audience.
final class RecipientsFile {
    /// Maximum number of recipients in a stream entry.
    static let inlineLimit = AudienceList.inlineLimit
    /// Maximum size of the recipients in a stream entry, bytes.
    static let inlineBytes = 32 << 20
    private static let advice = "; correct them, or push the job as it is with --no-check"

    private let source: String
    private var reader: RecipientFileReader
    /// All recipients of a short file; the recipients read so far of a long one.
    private var elements: [[UInt8]] = []
    /// Why the recipients do not fit into one stream entry; nil if they do.
    private var excess: String?

    /// Reads the header of CSV.
    /// - Parameter path: the value of `--recipients-file`; `-` for standard input.
    init(path: String) throws {
        source = path == "-" ? "standard input" : "--recipients-file"
        reader = try RecipientFileReader.open(path: path)
    }

    /// Reads a short file whole. Checks each row of a long one, unless it is a pipe, which can be read only once.
    /// - Parameter preview: checks each row; nil does not.
    /// - Throws: the exit code, after printing the rows that break a rule.
    func read(_ preview: PersonalPreview?) throws {
        reader.check = preview.map { preview in { preview.fault(of: $0) } }
        var bytes = 0
        while elements.count <= Self.inlineLimit, bytes <= Self.inlineBytes, let element = try reader.next() {
            elements.append(element)
            bytes += element.count + 1
        }
        if bytes > Self.inlineBytes { excess = "more than \(Self.inlineBytes) bytes of recipients" }
        if elements.count > Self.inlineLimit { excess = "more than \(Self.inlineLimit) recipients" }
        let isLong = excess != nil
        let checks = preview != nil
        if isLong, checks, reader.canRewind || reader.faults.count > 0 { try reader.checkRest() }
        try reader.faults.throwIfAny(advice: Self.advice)
        guard !elements.isEmpty else {
            throw Outcome.usage.because("\(source): no recipients; give one per line")
        }
        if isLong, checks, reader.canRewind {
            elements = []
            try reader.rewind()
        }
    }

    /// Sets the recipients of a job.
    /// - Parameter key: the list for the recipients of a long file, see ``AudienceList/newKey(project:)``.
    func apply(to job: inout PushJob, key: String) {
        guard excess == nil else {
            job.target = .audience(key: key)
            job.audienceFormat = .json
            return
        }
        job.target = .recipients(RecipientList(elements.map { String(decoding: $0, as: UTF8.self) }))
        job.audienceFormat = nil
        elements = []
    }

    /// Writes the recipients of a long file to the list; does nothing for a short one.
    /// - Parameter startMs: the start of the job in Unix milliseconds, nil for now; the list must outlive it.
    func write(to key: String, _ client: RedisClient, startMs: Int64?) async throws {
        guard let excess else { return }
        var list = AudienceList(key, client, startMs: startMs, noun: "recipients")
        try await list.write(
            &elements,
            because: excess,
            { $0 },
            next: { [self] in
                reader.faults.count == 0 ? try reader.next() : nil
            }
        )
        try await list.end(source) {
            guard reader.faults.count > 0 else { return }
            try reader.checkRest()
            try reader.faults.throwIfAny(advice: Self.advice)
        }
    }
}
