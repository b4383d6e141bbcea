internal import FanfareClient

/// A column by which `fanfare job ls` sorts: the most first, and the shortest time left.
enum JobOrder: String, CaseIterable {
    case project, job, failed, total, rate, left, pushed

    func sorted(_ rows: [(String, JobProgress)]) -> [(String, JobProgress)] {
        let order = rows.enumerated().sorted { left, right in
            let (a, b) = (left.element, right.element)
            let isFirst = isBefore(a, b)
            return isFirst != isBefore(b, a) ? isFirst : left.offset < right.offset
        }
        return order.map(\.element)
    }

    private func isBefore(_ a: (String, JobProgress), _ b: (String, JobProgress)) -> Bool {
        func most(_ value: (JobProgress) -> Double) -> Bool { value(a.1) > value(b.1) }
        return switch self {
        case .project: a.0 < b.0
        case .job: a.1.status.id < b.1.status.id
        case .failed: most { Double($0.status.failed) }
        case .total: most { Double($0.status.total) }
        case .rate: most { $0.resultsPerSecond ?? 0 }
        case .left: most { -($0.remainingSeconds ?? .greatestFiniteMagnitude) }
        case .pushed: most { Double($0.status.createdMs ?? 0) }
        }
    }
}
