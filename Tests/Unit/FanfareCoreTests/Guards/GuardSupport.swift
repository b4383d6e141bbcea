@testable import FanfareCore

/// The reason of the fault that an expression throws; nil when it throws none.
func fault<Value>(_ body: () throws(EntryFault) -> Value) -> String? {
    do throws(EntryFault) {
        _ = try body()
        return nil
    } catch {
        return error.reason
    }
}
