"""Unmodified clients against a live broker: what they are promised is asked of each of them.

    drivers/     one face over confluent-kafka, aiokafka, kafka-python and KafkaJS
    faults.py    a proxy that loses answers
    wire.py      batches as they are stored
    kafkajs/     the Node.js half of the KafkaJS driver

The broker is `riverlog up`, started once; or the one that RIVERLOG_TEST_BOOTSTRAP names, such as a real
Apache Kafka: what these tests claim is Kafka's behaviour, and running them against Kafka proves it.
"""
