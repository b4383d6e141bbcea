import FanfareModel
import Testing

@testable import FCMSimulator

@Suite struct DeviceQueuesTests {
    private static func message(expiresMs: Int64) -> StoredMessage {
        let accepted = AcceptedMessage(token: "t", messageID: "m", senderID: "1", source: .legacy([]), acceptedMs: 0)
        var options = DeliveryOptions()
        options.lifetime = .span(expiresMs)
        return StoredMessage(accepted, options: options, package: nil)
    }

    @Test(arguments: UInt64(1)...10)
    func `queues are due in the order of time after any changes`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var queues = DeviceQueues()
        var due: [String: Int64] = [:]
        for _ in 0..<3_000 {
            let instance = "t\(random.next() % 200)"
            var queue = queues.remove(instance) ?? DeviceQueue()
            if random.next() % 3 == 0 {
                _ = queue.removeAll()
                due[instance] = nil
                queues.put(instance, queue, dueMs: nil)
            } else {
                let time = Int64(random.next() % 10_000)
                _ = queue.add(Self.message(expiresMs: time), isAndroid: false, random: &random)
                due[instance] = time
                queues.put(instance, queue, dueMs: time)
            }
        }
        #expect(queues.agendaCount <= 2 * 200 + 65)
        var times: [Int64] = []
        while let next = queues.nextDue(nowMs: 8_000) {
            #expect(due.removeValue(forKey: next.instance) == next.dueMs)
            times.append(next.dueMs)
        }
        #expect(times == times.sorted())
        #expect(due.values.allSatisfy { $0 > 8_000 })
    }

    @Test func `counted messages and bytes return to zero when the queues empty`() {
        var random = SplitMix64(seed: 1)
        var queues = DeviceQueues()
        for index in 0..<100 {
            var queue = DeviceQueue()
            for _ in 0...index { _ = queue.add(Self.message(expiresMs: 5), isAndroid: true, random: &random) }
            queues.put("t\(index)", queue, dueMs: 5)
        }
        #expect(queues.messageCount == 5_050)
        while let (instance, dueMs) = queues.nextDue(nowMs: 5) {
            var queue = queues.remove(instance)
            #expect(queue?.expire(nowMs: dueMs) ?? 0 > 0)
            if let queue { queues.put(instance, queue, dueMs: nil) }
        }
        #expect(queues.messageCount == 0)
        #expect(queues.count == 0)
    }

    @Test func `a full store of queues has no room`() {
        var queues = DeviceQueues()
        var random = SplitMix64(seed: 1)
        var message = Self.message(expiresMs: 5)
        message.accepted.source = .legacy(Array(repeating: 0, count: 4_096))
        var count = 0
        while queues.hasRoom(for: message), count < 1_000_000 {
            var queue = DeviceQueue()
            _ = queue.add(message, isAndroid: true, random: &random)
            queues.put("t\(count)", queue, dueMs: 5)
            count += 1
        }
        #expect(count > 50_000)
        #expect(count * (4_096 + 512) <= DeviceQueues.maximumBytes)
    }
}
