internal import Foundation

/// What a process asked of the system and of the allocator so far: what the preloaded library `CallCounts` wrote.
struct CallCounts: Equatable {
    let values: [String: Int]

    /// The environment of a process that is to be counted.
    static func environment(library: String, file: String) -> [String: String] {
        ["LD_PRELOAD": library, "FANFARE_COUNTS_FILE": file]
    }

    init(values: [String: Int]) { self.values = values }

    /// - Parameter records: the file's bytes: a name of up to 24 bytes that ends with a zero, then 64 bits, and so on.
    init(records: Data) throws {
        let nameLength = 24
        let length = nameLength + MemoryLayout<UInt64>.size
        guard !records.isEmpty, records.count.isMultiple(of: length) else {
            throw BenchError.failed(
                "\(records.count) bytes are not the counts of a process: was the library preloaded?"
            )
        }
        let bytes = [UInt8](records)
        var values: [String: Int] = [:]
        for start in stride(from: 0, to: bytes.count, by: length) {
            let name = bytes[start..<(start + nameLength)].prefix { $0 != 0 }
            let value = bytes[(start + nameLength)..<(start + length)].reversed().reduce(0) { $0 << 8 | UInt64($1) }
            values[String(decoding: name, as: UTF8.self)] = Int(truncatingIfNeeded: value)
        }
        self.values = values
    }

    /// What was added since an earlier reading of the same process.
    func since(_ earlier: CallCounts) -> CallCounts {
        CallCounts(values: values.merging(earlier.values) { $0 - $1 })
    }

    subscript(name: String) -> Int { values[name] ?? 0 }

    func sum(_ names: [String]) -> Int { names.reduce(0) { $0 + self[$1] } }
}
